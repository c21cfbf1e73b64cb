#include "grammar/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace lattice::grammar {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const GbnfLimits& limits)
      : text_(text), limits_(limits), builder_(limits.grammar) {}

  Result<std::shared_ptr<const Grammar>> Parse() {
    if (text_.size() > limits_.max_size) {
      return Error{ErrorCode::kResourceExhausted,
                   "the grammar is longer than " + std::to_string(limits_.max_size) + " bytes"};
    }
    if (!IsValidUtf8(text_)) {
      return Error{ErrorCode::kInvalidArgument, "the grammar is not UTF-8"};
    }
    for (SkipSpace(/*lines=*/true); at_ < text_.size(); SkipSpace(/*lines=*/true)) {
      LATTICE_TRY_VOID(ParseRule());
    }
    for (const auto& [name, rule] : rules_) {
      if (rule.is_defined) continue;
      at_ = rule.first_use;
      return Bad("the rule '" + std::string(name) + "' is not defined");
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      return Error{ErrorCode::kInvalidArgument, "the grammar has no rule 'root'"};
    }
    return std::move(builder_).Build(root->second.symbol);
  }

 private:
  struct Rule {
    Symbol symbol;
    std::size_t first_use = 0;
    bool is_defined = false;
  };

  Error At(ErrorCode code, std::string_view what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::string_view last = before.substr(before.rfind('\n') + 1);
    const auto column =
        1 + std::count_if(last.begin(), last.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return {code, "grammar, line " + std::to_string(line) + ", column " + std::to_string(column) +
                      ": " + std::string(what)};
  }
  Error Bad(std::string_view what) const { return At(ErrorCode::kInvalidArgument, what); }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }

  void SkipSpace(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // A rule goes on in the next line when that begins with '|'.
  void SkipSpaceBeforeBar(bool nested) {
    SkipSpace(nested);
    const std::size_t begin = at_;
    SkipSpace(/*lines=*/true);
    if (Peek() != '|') at_ = begin;
  }

  Result<std::string_view> Name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    if (at_ == begin) return Bad("the name of a rule is missing");
    return text_.substr(begin, at_ - begin);
  }

  Rule& RuleOf(std::string_view name, std::size_t where) {
    const auto known = rules_.find(name);
    if (known != rules_.end()) return known->second;
    return rules_.emplace(name, Rule{builder_.Rule(name), where}).first->second;
  }

  Status ParseRule() {
    const std::size_t begin = at_;
    LATTICE_TRY(const std::string_view name, Name());
    SkipSpace(/*lines=*/false);
    if (!Take("::=")) return Bad("'::=' is missing");
    SkipSpace(/*lines=*/true);
    if (rules_.size() >= limits_.max_rules) {
      return At(ErrorCode::kResourceExhausted,
                "more than " + std::to_string(limits_.max_rules) + " rules");
    }
    LATTICE_TRY(const Symbol body, Alternatives(0));
    if (at_ < text_.size() && Peek() != '\n' && Peek() != '\r') {
      return Bad(Peek() == ')' ? "an unmatched ')'" : "the end of the line was expected");
    }
    Rule& rule = RuleOf(name, begin);
    if (rule.is_defined) {
      at_ = begin;
      return Bad("the rule '" + std::string(name) + "' is defined twice");
    }
    rule.is_defined = true;
    builder_.Define(rule.symbol, body);
    return Ok();
  }

  Result<Symbol> Alternatives(std::size_t depth) {
    if (depth > limits_.max_depth) {
      return At(ErrorCode::kResourceExhausted,
                "parentheses nest deeper than " + std::to_string(limits_.max_depth));
    }
    std::vector<Symbol> choices;
    while (true) {
      LATTICE_TRY(const Symbol choice, Sequence(depth));
      choices.push_back(choice);
      SkipSpaceBeforeBar(depth > 0);
      if (!Take("|")) return builder_.Choice(choices);
      SkipSpace(/*lines=*/true);
    }
  }

  Result<Symbol> Sequence(std::size_t depth) {
    std::vector<Symbol> parts;
    while (true) {
      SkipSpace(/*lines=*/depth > 0);
      const char c = Peek();
      if (at_ >= text_.size() || c == '|' || c == ')' || c == '\n' || c == '\r') break;
      LATTICE_TRY(Symbol item, Item(depth));
      SkipSpace(/*lines=*/depth > 0);
      while (true) {
        LATTICE_TRY(const bool repeated, Repetition(item));
        if (!repeated) break;
        SkipSpace(/*lines=*/depth > 0);
      }
      parts.push_back(item);
    }
    return builder_.Sequence(parts);
  }

  Result<Symbol> Item(std::size_t depth) {
    const std::size_t begin = at_;
    if (Take("\"")) return Literal();
    if (Take("[")) return Class();
    if (Take(".")) return builder_.Terminal(builder_.Chars(CharSet::All()));
    if (Take("(")) {
      LATTICE_TRY(const Symbol inner, Alternatives(depth + 1));
      SkipSpace(/*lines=*/true);
      if (!Take(")")) return Bad("')' is missing");
      return inner;
    }
    if (Peek() == '<' || Peek() == '!') {
      return At(ErrorCode::kUnsupported, "references to tokens cannot be part of a grammar");
    }
    if (IsNameChar(Peek())) {
      LATTICE_TRY(const std::string_view name, Name());
      return RuleOf(name, begin).symbol;
    }
    return Bad("an item of a rule was expected");
  }

  // Applies one *, +, ? or {...} if there is one.
  Result<bool> Repetition(Symbol& item) {
    std::uint32_t min = 0, max = kNoLimit;
    const std::size_t begin = at_;
    if (Take("*")) {
      // as they are
    } else if (Take("+")) {
      min = 1;
    } else if (Take("?")) {
      max = 1;
    } else if (Take("{")) {
      LATTICE_TRY_VOID(Bounds(min, max));
    } else {
      return false;
    }
    if (min > max) {
      at_ = begin;
      return Bad("{m,n} with m greater than n");
    }
    item = builder_.Repeat(item, min, max);
    return true;
  }

  Status Bounds(std::uint32_t& min, std::uint32_t& max) {
    const bool has_min = Peek() != ',';
    if (has_min) {
      LATTICE_TRY(min, Number());
    }
    SkipSpace(/*lines=*/false);
    if (!Take(",")) {
      max = min;
    } else {
      SkipSpace(/*lines=*/false);
      if (Peek() != '}') {
        LATTICE_TRY(max, Number());
      } else if (!has_min) {
        return Bad("a number is missing in {...}");
      }
      SkipSpace(/*lines=*/false);
    }
    if (!Take("}")) return Bad("'}' is missing");
    return Ok();
  }

  Result<std::uint32_t> Number() {
    std::uint64_t n = 0;
    const std::size_t begin = at_;
    for (; Peek() >= '0' && Peek() <= '9'; ++at_) {
      n = std::min<std::uint64_t>(n * 10 + static_cast<std::uint64_t>(Peek() - '0'), kNoLimit);
    }
    if (at_ == begin) return Bad("a number is missing in {...}");
    if (n >= kNoLimit) return Bad("a number in {...} is too large");
    return static_cast<std::uint32_t>(n);
  }

  Result<Symbol> Literal() {
    std::string bytes;
    while (!Take("\"")) {
      LATTICE_TRY(const char32_t c, Character("\""));
      AppendUtf8(c, bytes);
    }
    return builder_.Text(bytes);
  }

  Result<Symbol> Class() {
    const bool negated = Take("^");
    std::vector<CharSet::Range> ranges;
    while (!Take("]")) {
      const std::size_t begin = at_;
      LATTICE_TRY(const char32_t first, Character("]"));
      char32_t last = first;
      if (Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        LATTICE_TRY(last, Character("]"));
      }
      if (first > last) {
        at_ = begin;
        return Bad("a range that does not rise");
      }
      ranges.push_back({first, last});
    }
    const CharSet set = CharSet::OfRanges(ranges);
    return builder_.Terminal(builder_.Chars(negated ? set.Complement() : set));
  }

  // A character of a literal or class, before whose `end` the text must not end.
  Result<char32_t> Character(std::string_view end) {
    if (at_ >= text_.size()) return Bad("'" + std::string(end) + "' is missing");
    if (Peek() != '\\') {
      const Utf8Step step = DecodeUtf8(text_.substr(at_));
      at_ += step.n_bytes;
      return step.scalar;
    }
    const std::size_t begin = at_++;
    const char c = Peek();
    ++at_;
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'x':
        return Hex(begin, 2);
      case 'u':
        return Hex(begin, 4);
      case 'U':
        return Hex(begin, 8);
      default:
        break;
    }
    constexpr std::string_view kThemselves = "\\\"[]-^/'";
    if (kThemselves.find(c) != std::string_view::npos) return static_cast<char32_t>(c);
    at_ = begin;
    return Bad("an unknown escape");
  }

  Result<char32_t> Hex(std::size_t begin, std::size_t n_digits) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_digits; ++i, ++at_) {
      const int digit = HexDigit(Peek());
      if (digit < 0) return Bad("a hexadecimal digit is missing");
      value = value * 16 + static_cast<std::uint64_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      at_ = begin;
      return Bad("no such character");
    }
    return static_cast<char32_t>(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  GbnfLimits limits_;
  GrammarBuilder builder_;
  std::map<std::string, Rule, std::less<>> rules_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> ParseGbnf(std::string_view text, const GbnfLimits& limits) {
  return GbnfParser(text, limits).Parse();
}

}  // namespace lattice::grammar
