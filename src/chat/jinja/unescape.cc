#include <cstdint>
#include <optional>

#include "base/utf8.h"
#include "chat/jinja/lexer.h"

namespace lattice::chat::jinja {
namespace {

std::optional<char> SimpleEscape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> DigitValue(char c, std::uint32_t base) {
  std::uint32_t value = base;
  if (c >= '0' && c <= '9') value = static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') value = static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') value = static_cast<std::uint32_t>(c - 'A' + 10);
  if (value >= base) return std::nullopt;
  return value;
}

Error BadEscape(std::string_view what) {
  return Error{ErrorCode::kCorruptData, "string literal: " + std::string(what)};
}

// \xHH, \uHHHH or \UHHHHHHHH; `at` stands behind the letter and moves behind the digits.
Status AppendHex(std::string_view literal, std::size_t n_digits, std::size_t& at,
                 std::string& out) {
  std::uint32_t scalar = 0;
  for (std::size_t i = 0; i < n_digits; ++i, ++at) {
    const auto digit = at < literal.size() ? DigitValue(literal[at], 16) : std::nullopt;
    if (!digit) return BadEscape("an escape has too few hexadecimal digits");
    scalar = scalar * 16 + *digit;
  }
  if (scalar > 0x10FFFF || (scalar >= 0xD800 && scalar < 0xE000)) {
    return BadEscape("an escape names no character");
  }
  AppendUtf8(scalar, out);
  return Ok();
}

}  // namespace

Result<std::string> Unescape(std::string_view literal) {
  std::string out;
  for (std::size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out += literal[i++];
      continue;
    }
    const char c = literal[i + 1];
    i += 2;
    if (const auto simple = SimpleEscape(c)) {
      out += *simple;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      LATTICE_TRY_VOID(AppendHex(literal, c == 'x' ? 2 : c == 'u' ? 4 : 8, i, out));
    } else if (DigitValue(c, 8)) {
      std::uint32_t scalar = *DigitValue(c, 8);
      for (int n = 1; n < 3 && i < literal.size() && DigitValue(literal[i], 8); ++n, ++i) {
        scalar = scalar * 8 + *DigitValue(literal[i], 8);
      }
      AppendUtf8(scalar, out);
    } else if (c != '\n') {  // a backslash joins two lines
      out += '\\';
      out += c;
    }
  }
  return out;
}

}  // namespace lattice::chat::jinja
