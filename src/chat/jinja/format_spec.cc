#include "chat/jinja/format_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

Error BadLetter(const FormatSpec& spec, const Value& value) {
  return Fault("unknown format code '" + std::string(1, spec.type) + "' for a value of type '" +
               std::string(TypeName(value)) + "'");
}

std::string InBase(Int magnitude, unsigned base, bool upper) {
  std::string digits;
  do {
    const auto digit = static_cast<unsigned>(magnitude % static_cast<Int>(base));
    digits += static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
    magnitude /= static_cast<Int>(base);
  } while (magnitude != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void InsertCommas(std::string& digits) {
  std::size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  while (end > 3) digits.insert(end -= 3, ",");
}

// The digits of a magnitude, without sign.
Result<std::string> IntDigits(const Value& value, Int magnitude, const FormatSpec& spec) {
  switch (spec.type) {
    case '\0':
    case 'd':
    case 'i':
    case 'u':
    case 'n':
      return IntToString(magnitude);
    case 'x':
    case 'X':
      return (spec.alternate ? std::string{'0', spec.type} : "") +
             InBase(magnitude, 16, spec.type == 'X');
    case 'o':
      return (spec.alternate ? "0o" : "") + InBase(magnitude, 8, false);
    case 'b':
      return (spec.alternate ? "0b" : "") + InBase(magnitude, 2, false);
    default:
      return BadLetter(spec, value);
  }
}

Result<std::string> FloatDigits(const Value& value, double magnitude, const FormatSpec& spec) {
  if (spec.type == '\0' && !spec.precision) return FloatToString(magnitude);
  if (!std::isfinite(magnitude)) return std::string(std::isnan(magnitude) ? "nan" : "inf");
  std::chars_format format = std::chars_format::general;
  const char letter = static_cast<char>(spec.type | 0x20);
  if (letter == 'f' || spec.type == '%') {
    format = std::chars_format::fixed;
  } else if (letter == 'e') {
    format = std::chars_format::scientific;
  } else if (letter != 'g' && spec.type != '\0') {
    return BadLetter(spec, value);
  }
  if (spec.type == '%') magnitude *= 100;
  auto precision = static_cast<int>(spec.precision.value_or(6));
  if (format == std::chars_format::general) precision = std::max(precision, 1);
  std::string buffer(kMaxFormatWidth + 400, '\0');
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, format, precision);
  buffer.resize(static_cast<std::size_t>(end.ptr - buffer.data()));
  if (spec.type == 'E' || spec.type == 'G') {
    std::replace(buffer.begin(), buffer.end(), 'e', 'E');
  }
  return spec.type == '%' ? buffer + "%" : buffer;
}

bool IsFloatLetter(char letter) {
  return letter != '\0' && std::string_view("eEfFgG%").find(letter) != std::string_view::npos;
}

Status AppendNumber(Runtime& runtime, const Value& value, const FormatSpec& spec,
                    TextBuilder& out) {
  const double* number = value.If<double>();
  LATTICE_TRY(const Value integer, number != nullptr ? Result<Value>(Int{0}) : Positive(value));
  const Int whole = *integer.If<Int>();
  bool negative = whole < 0;
  std::string digits;
  if (number != nullptr || IsFloatLetter(spec.type)) {
    const double real = number != nullptr ? *number : static_cast<double>(whole);
    negative = std::signbit(real);
    LATTICE_TRY(digits, FloatDigits(value, std::fabs(real), spec));
  } else {
    LATTICE_TRY(const Value magnitude, negative ? Negate(integer) : Result<Value>(integer));
    LATTICE_TRY(digits, IntDigits(value, *magnitude.If<Int>(), spec));
  }
  if (spec.commas) InsertCommas(digits);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align == '=') {
    const std::size_t width = spec.width - std::min(spec.width, sign.size());
    LATTICE_TRY(const Value padded, PadText(runtime, Text(digits), static_cast<Int>(width),
                                            Text(spec.fill), true, false));
    out.Append(sign);
    out.Append(*padded.text());
    return Ok();
  }
  const bool left = spec.align != '<';
  LATTICE_TRY(const Value padded,
              PadText(runtime, Text(sign + digits), static_cast<Int>(spec.width), Text(spec.fill),
                      left, spec.align == '<' || spec.align == '^'));
  out.Append(*padded.text());
  return Ok();
}

}  // namespace

Status AppendFormatted(Runtime& runtime, const Value& value, const FormatSpec& spec,
                       TextBuilder& out) {
  if (value.IsNumber() && spec.type != 's' &&
      !(value.Is<bool>() && spec.type == '\0' && spec.width == 0)) {
    if (spec.type != 'c') return AppendNumber(runtime, value, spec, out);
    const Int* scalar = value.If<Int>();
    if (scalar == nullptr || *scalar < 0 || *scalar > 0x10FFFF ||
        (*scalar >= 0xD800 && *scalar < 0xE000)) {
      return Fault("a character's number is out of range");
    }
    std::string character;
    AppendUtf8(static_cast<char32_t>(*scalar), character);
    out.Append(character);
    return Ok();
  }
  if (spec.type != '\0' && spec.type != 's') return BadLetter(spec, value);
  LATTICE_TRY(Text text, ToText(runtime, value));
  if (spec.precision) text = text.Sub(0, text.ByteOfChar(*spec.precision));
  LATTICE_TRY(const Value padded,
              PadText(runtime, text, static_cast<Int>(spec.width), Text(spec.fill),
                      spec.align == '>' || spec.align == '^', spec.align != '>'));
  out.Append(*padded.text());
  return Ok();
}

}  // namespace lattice::chat::jinja
