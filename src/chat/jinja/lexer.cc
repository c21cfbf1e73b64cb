#include "chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/characters.h"

namespace lattice::chat::jinja {
namespace {

std::string NormaliseNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> Run() {
    while (at_ < source_.size()) LATTICE_TRY_VOID(LexData());
    Push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Error Complain(std::string_view what) const {
    return Error{ErrorCode::kCorruptData,
                 "line " + std::to_string(line_) + ": " + std::string(what)};
  }

  bool Has(std::size_t at, std::string_view text) const {
    return source_.substr(at, text.size()) == text;
  }

  void Push(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  // Moves on to `end` and keeps the line and whether it just began.
  void Advance(std::size_t end) {
    const std::string_view passed = source_.substr(at_, end - at_);
    line_ += static_cast<std::uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) at_line_start_ = passed.back() == '\n';
    at_ = end;
  }

  std::size_t SkipSpace(std::size_t at) const {
    while (at < source_.size()) {
      const Utf8Step step = DecodeUtf8(source_.substr(at));
      if (!IsPythonSpace(step.scalar)) break;
      at += step.n_bytes;
    }
    return at;
  }

  // Text up to the next tag, then that tag.
  Status LexData() {
    std::size_t open = at_;
    while (true) {
      open = source_.find('{', open);
      if (open == std::string_view::npos) {
        PushData(source_.substr(at_));
        at_ = source_.size();
        return Ok();
      }
      if (Has(open, "{%") || Has(open, "{{") || Has(open, "{#")) break;
      ++open;
    }
    const char type = source_[open + 1];
    PushData(StripBefore(source_.substr(at_, open - at_), SignAt(open + 2), type == '{'));
    Advance(open);
    const std::size_t inside = open + 2 + (SignAt(open + 2) != '\0' ? 1 : 0);
    if (type == '#') return LexComment(inside);
    if (type == '%') {
      if (const auto raw = MatchTag(open, "raw")) return LexRaw(*raw);
    }
    Push(type == '{' ? TokenKind::kOutputBegin : TokenKind::kBlockBegin, "");
    Advance(inside);
    return LexTag(type == '{');
  }

  char SignAt(std::size_t at) const {
    const char c = at < source_.size() ? source_[at] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  void PushData(std::string_view data) {
    if (!data.empty()) Push(TokenKind::kData, std::string(data));
  }

  // Whitespace control of the tag that follows `data`.
  std::string_view StripBefore(std::string_view data, char sign, bool is_output) const {
    if (sign == '-') return StripRight(data);
    if (sign == '+' || is_output) return data;
    const std::size_t newline = data.rfind('\n');
    if (newline == std::string_view::npos && !at_line_start_) return data;
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    return StripRight(data.substr(begin)).empty() ? data.substr(0, begin) : data;
  }

  // The end of a tag at `at`: "%}" with sign, and what it swallows behind it.
  struct TagEnd {
    std::size_t begin;  // where the sign or the brace stands
    std::size_t end;
  };
  std::optional<TagEnd> MatchEnd(std::size_t at, std::string_view close) const {
    const bool trims = close != "}}";
    if (Has(at, close)) {
      std::size_t end = at + 2;
      if (trims && Has(end, "\n")) ++end;
      return TagEnd{at, end};
    }
    const char sign = SignAt(at);
    if (sign == '\0' || !Has(at + 1, close)) return std::nullopt;
    if (sign == '-') return TagEnd{at, SkipSpace(at + 3)};
    if (trims) return TagEnd{at, at + 3};
    return std::nullopt;  // "+}}" is an operator and an end
  }

  Status LexComment(std::size_t inside) {
    for (std::size_t at = source_.find("#}", inside); at != std::string_view::npos;
         at = source_.find("#}", at + 1)) {
      // The sign belongs to the end unless it is the opening's own: {#-#}.
      const bool has_sign = at > inside && SignAt(at - 1) != '\0';
      const auto end = MatchEnd(has_sign ? at - 1 : at, "#}");
      Advance(end->end);
      return Ok();
    }
    return Complain("missing end of comment tag");
  }

  // The end of "{%- name -%}" that begins at `at`, if that is what stands there.
  std::optional<TagEnd> MatchTag(std::size_t at, std::string_view name) const {
    if (!Has(at, "{%")) return std::nullopt;
    at += 2;
    if (SignAt(at) != '\0') ++at;
    at = SkipSpace(at);
    if (!Has(at, name)) return std::nullopt;
    const auto end = MatchEnd(SkipSpace(at + name.size()), "%}");
    if (end && name == "raw") {  // keeps the newline behind it, and knows no "+"
      if (SignAt(end->begin) == '+') return std::nullopt;
      if (SignAt(end->begin) == '\0') return TagEnd{end->begin, end->begin + 2};
    }
    return end;
  }

  Status LexRaw(TagEnd open) {
    Advance(open.end);
    for (std::size_t at = source_.find("{%", at_); at != std::string_view::npos;
         at = source_.find("{%", at + 1)) {
      const auto end = MatchTag(at, "endraw");
      if (!end) continue;
      PushData(StripBefore(source_.substr(at_, at - at_), SignAt(at + 2), false));
      Advance(end->end);
      return Ok();
    }
    return Complain("missing end of raw directive");
  }

  Status LexTag(bool is_output) {
    std::string open_braces;
    while (true) {
      if (open_braces.empty()) {
        if (const auto end = MatchEnd(at_, is_output ? "}}" : "%}")) {
          Push(is_output ? TokenKind::kOutputEnd : TokenKind::kBlockEnd, "");
          Advance(end->end);
          return Ok();
        }
      }
      if (const std::size_t next = SkipSpace(at_); next > at_) {
        Advance(next);
        continue;
      }
      if (at_ >= source_.size()) {
        return Complain(is_output ? "unexpected end of template, expected '}}'"
                                  : "unexpected end of template, expected '%}'");
      }
      LATTICE_TRY_VOID(LexWord(open_braces));
    }
  }

  Status LexWord(std::string& open_braces) {
    const char c = source_[at_];
    if (IsDigit(c)) return LexNumber();
    if (c == '"' || c == '\'') return LexString(c);
    if (const std::size_t end = NameEnd(at_); end > at_) {
      Push(TokenKind::kName, std::string(source_.substr(at_, end - at_)));
      Advance(end);
      return Ok();
    }
    return LexOperator(open_braces);
  }

  std::size_t NameEnd(std::size_t at) const {
    while (at < source_.size()) {
      const Utf8Step step = DecodeUtf8(source_.substr(at));
      if (!IsWordCharacter(step.scalar)) break;
      at += step.n_bytes;
    }
    return at;
  }

  std::size_t DigitsEnd(std::size_t at) const {
    while (at < source_.size() &&
           (IsDigit(source_[at]) ||
            (source_[at] == '_' && at + 1 < source_.size() && IsDigit(source_[at + 1])))) {
      ++at;
    }
    return at;
  }

  Status LexNumber() {
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char base = static_cast<char>(source_[at_ + 1] | 0x20);
      if (base == 'x' || base == 'o' || base == 'b') {
        PushNumber(TokenKind::kInteger, NameEnd(at_));
        return Ok();
      }
    }
    std::size_t end = DigitsEnd(at_);
    bool is_float = false;
    if (Has(end, ".") && end + 1 < source_.size() && IsDigit(source_[end + 1])) {
      end = DigitsEnd(end + 1);
      is_float = true;
    }
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
      const std::size_t exponent = end + 1 + (SignAt(end + 1) != '\0' ? 1 : 0);
      if (exponent < source_.size() && IsDigit(source_[exponent])) {
        end = DigitsEnd(exponent);
        is_float = true;
      }
    }
    PushNumber(is_float ? TokenKind::kFloat : TokenKind::kInteger, end);
    return Ok();
  }

  void PushNumber(TokenKind kind, std::size_t end) {
    std::string digits(source_.substr(at_, end - at_));
    std::erase(digits, '_');
    Push(kind, std::move(digits));
    Advance(end);
  }

  Status LexString(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return Complain("a string literal has no end");
    auto value = Unescape(source_.substr(at_ + 1, end - at_ - 1));
    if (!value) return Complain(value.error().message);
    Push(TokenKind::kString, std::move(value).value());
    Advance(end + 1);
    return Ok();
  }

  Status LexOperator(std::string& open_braces) {
    static constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](std::string_view op) { return Has(at_, op); });
    if (found == kOperators.end()) {
      const Utf8Step step = DecodeUtf8(source_.substr(at_));
      return Complain("unexpected character '" + std::string(source_.substr(at_, step.n_bytes)) +
                      "'");
    }
    const char c = (*found)[0];
    if (c == '{' || c == '(' || c == '[') {
      open_braces += c == '{' ? '}' : c == '(' ? ')' : ']';
    } else if (c == '}' || c == ')' || c == ']') {
      if (open_braces.empty()) return Complain("unexpected '" + std::string(*found) + "'");
      if (open_braces.back() != c) {
        return Complain("unexpected '" + std::string(*found) + "', expected '" +
                        std::string(1, open_braces.back()) + "'");
      }
      open_braces.pop_back();
    }
    Push(TokenKind::kOperator, std::string(*found));
    Advance(at_ + found->size());
    return Ok();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source, const Limits& limits) {
  if (source.size() > limits.max_source_bytes) {
    return Error{ErrorCode::kResourceExhausted,
                 "the template has " + std::to_string(source.size()) + " bytes; the limit is " +
                     std::to_string(limits.max_source_bytes)};
  }
  if (!IsValidUtf8(source)) {
    return Error{ErrorCode::kCorruptData, "the template is not valid UTF-8"};
  }
  const std::string text = NormaliseNewlines(source);
  return Lexer(text).Run();
}

}  // namespace lattice::chat::jinja
