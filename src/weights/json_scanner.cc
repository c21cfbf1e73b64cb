#include "weights/json_scanner.h"

#include <optional>
#include <vector>

#include "base/utf8.h"

namespace lattice::weights {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

std::optional<std::uint32_t> HexDigit(char c) {
  if (IsDigit(c)) return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<char> SimpleEscape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return std::nullopt;
  }
}

}  // namespace

void JsonScanner::SkipSpace() {
  while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
}

Error JsonScanner::Complain(std::string_view what) const {
  std::string found = ", found the end of the text";
  if (at_ < text_.size()) {
    const auto step = DecodeUtf8(text_.substr(at_));
    found = ", found " + Quoted(text_.substr(at_, step.n_bytes));
  }
  return Error{ErrorCode::kCorruptData,
               "JSON at byte " + std::to_string(at_) + ": " + std::string(what) + found};
}

Status JsonScanner::Expect(char wanted) {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != wanted) {
    return Complain(std::string("expected '") + wanted + "'");
  }
  ++at_;
  return Ok();
}

bool JsonScanner::Accept(char wanted) {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

Result<std::string> JsonScanner::String() {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != '"') return Complain("expected a string");
  ++at_;
  std::string out;
  while (true) {
    const std::size_t run = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           !IsControl(text_[at_])) {
      ++at_;
    }
    out.append(text_.substr(run, at_ - run));
    if (at_ >= text_.size() || IsControl(text_[at_])) return Complain("string without an end");
    if (text_[at_++] == '"') return out;
    LATTICE_TRY_VOID(Escape(out));
  }
}

Status JsonScanner::Escape(std::string& out) {
  if (at_ >= text_.size()) return Complain("string without an end");
  if (const auto plain = SimpleEscape(text_[at_])) {
    out.push_back(*plain);
    ++at_;
    return Ok();
  }
  if (text_[at_] != 'u') return Complain("unknown escape");
  LATTICE_TRY(std::uint32_t scalar, HexUnit());
  if (scalar >= 0xD800 && scalar < 0xDC00) {
    if (at_ >= text_.size() || text_[at_] != '\\') return Complain("lone surrogate");
    ++at_;
    LATTICE_TRY(const std::uint32_t low, HexUnit());
    if (low < 0xDC00 || low > 0xDFFF) return Complain("lone surrogate");
    scalar = 0x10000 + ((scalar - 0xD800) << 10) + (low - 0xDC00);
  } else if (scalar >= 0xDC00 && scalar <= 0xDFFF) {
    return Complain("lone surrogate");
  }
  if (scalar == 0) return Complain("U+0000 in a string");
  AppendUtf8(scalar, out);
  return Ok();
}

// "uXXXX", the backslash already read.
Result<std::uint32_t> JsonScanner::HexUnit() {
  if (at_ >= text_.size() || text_[at_] != 'u') return Complain("expected 'u' and four hex digits");
  ++at_;
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const auto digit = at_ < text_.size() ? HexDigit(text_[at_]) : std::nullopt;
    if (!digit) return Complain("expected a hex digit");
    unit = unit * 16 + *digit;
    ++at_;
  }
  return unit;
}

Result<std::uint64_t> JsonScanner::Unsigned() {
  SkipSpace();
  const std::size_t begin = at_;
  std::uint64_t number = 0;
  while (at_ < text_.size() && IsDigit(text_[at_])) {
    const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
    std::uint64_t next = 0;
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &next) ||
        __builtin_add_overflow(next, digit, &number)) {
      return Complain("number of 2^64 or more");
    }
    ++at_;
  }
  if (at_ == begin) return Complain("expected a non-negative integer");
  if (text_[begin] == '0' && at_ - begin > 1) return Complain("integer with a leading zero");
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
    return Complain("expected a plain integer");
  }
  return number;
}

// true, false, null or a number: what is skipped is not used, so its spelling is not checked.
Status JsonScanner::SkipScalar() {
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool part =
        IsDigit(c) || (c >= 'a' && c <= 'z') || c == '+' || c == '-' || c == '.' || c == 'E';
    if (!part) break;
    ++at_;
  }
  if (at_ == begin) return Complain("expected a value");
  return Ok();
}

Status JsonScanner::Skip(std::size_t max_depth) {
  std::vector<char> closers;  // of the containers that are open
  while (true) {
    SkipSpace();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{' || c == '[') {
      if (closers.size() == max_depth) return Complain("nested too deeply");
      ++at_;
      closers.push_back(c == '{' ? '}' : ']');
      if (!Accept(closers.back())) {
        if (c == '{') {
          LATTICE_TRY_VOID(String());
          LATTICE_TRY_VOID(Expect(':'));
        }
        continue;
      }
      closers.pop_back();
    } else if (c == '"') {
      LATTICE_TRY_VOID(String());
    } else {
      LATTICE_TRY_VOID(SkipScalar());
    }
    while (!closers.empty() && !Accept(',')) {
      LATTICE_TRY_VOID(Expect(closers.back()));
      closers.pop_back();
    }
    if (closers.empty()) return Ok();
    if (closers.back() == '}') {
      LATTICE_TRY_VOID(String());
      LATTICE_TRY_VOID(Expect(':'));
    }
  }
}

Status JsonScanner::End() {
  SkipSpace();
  if (at_ < text_.size()) return Complain("expected the end of the text");
  return Ok();
}

std::string Quoted(std::string_view name) {
  constexpr std::size_t kMaxBytes = 120;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  std::size_t at = 0;
  while (at < name.size() && at < kMaxBytes) {
    const Utf8Step step = DecodeUtf8(name.substr(at));
    if (step.valid && step.scalar >= 0x20 && step.scalar != 0x7F) {
      out.append(name.substr(at, step.n_bytes));
    } else {
      for (const char c : name.substr(at, step.n_bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
    at += step.n_bytes;
  }
  out += at < name.size() ? "...'" : "'";
  return out;
}

}  // namespace lattice::weights
