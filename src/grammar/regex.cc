#include "grammar/regex.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "grammar/anchored_expr.h"

namespace lattice::grammar {
namespace {

constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

CharSet AllButLineEnds() { return CharSet::OfText("\n\r\u2028\u2029").Complement(); }

class RegexParser {
 public:
  RegexParser(std::string_view pattern, GrammarBuilder& builder, const RegexOptions& options)
      : text_(pattern), builder_(builder), anchored_(builder), options_(options) {}

  Result<Expr> Parse() {
    if (text_.size() > options_.max_size) {
      return Bad("the pattern is longer than " + std::to_string(options_.max_size) + " bytes");
    }
    if (!IsValidUtf8(text_)) return Bad("the pattern is not UTF-8");
    TakeFlags();
    LATTICE_TRY(AnchoredExpr made, Alternatives(0));
    if (at_ < text_.size()) return Bad("an unmatched ')'");
    if (options_.search) {
      const Expr any = options_.filler.value_or(builder_.AnyText());
      // The filler's non-empty texts matter only beside an anchor, and an anchor beside them fails.
      const AnchoredExpr filler = anchored_.Plain(any, any, true);
      made = anchored_.Concat(anchored_.Concat(filler, made), filler);
    }
    return anchored_.Whole(made);
  }

 private:
  struct Bounds {
    std::uint32_t min = 1, max = 1;
    bool given = false;
  };

  Error At(ErrorCode code, std::string_view what) const {
    return {code, "pattern, character " +
                      std::to_string(std::count_if(text_.begin(),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(
                                                                       std::min(at_, text_.size())),
                                                   [](char c) { return (c & 0xC0) != 0x80; }) +
                                     1) +
                      ": " + std::string(what)};
  }
  Error Bad(std::string_view what) const { return At(ErrorCode::kInvalidArgument, what); }
  Error Unsupported(std::string_view what) const {
    return At(ErrorCode::kUnsupported, std::string(what) + " cannot be part of a grammar");
  }

  bool Looking(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool Take(std::string_view s) {
    if (!Looking(s)) return false;
    at_ += s.size();
    return true;
  }
  char32_t TakeChar() {
    const Utf8Step step = DecodeUtf8(text_.substr(at_));
    at_ += step.n_bytes;
    return step.scalar;
  }

  void TakeFlags() {
    while (true) {
      if (Take("(?i)")) {
        options_.case_insensitive = true;
      } else if (Take("(?s)")) {
        options_.dot_matches_newline = true;
      } else {
        return;
      }
    }
  }

  AnchoredExpr OneOf(const CharSet& set) {
    const CharSet& wanted = options_.case_insensitive ? set.WithAsciiCases() : set;
    return anchored_.One(options_.chars ? options_.chars(wanted) : builder_.Chars(wanted));
  }

  Result<AnchoredExpr> Alternatives(std::size_t depth) {
    if (depth > options_.max_depth) {
      return Bad("groups nest deeper than " + std::to_string(options_.max_depth));
    }
    std::vector<AnchoredExpr> choices;
    do {
      LATTICE_TRY(AnchoredExpr choice, Sequence(depth));
      choices.push_back(std::move(choice));
    } while (Take("|"));
    return choices.size() == 1 ? choices[0] : anchored_.Or(choices);
  }

  // Joined from the right, so that long literals are joined in linear time.
  Result<AnchoredExpr> Sequence(std::size_t depth) {
    std::vector<AnchoredExpr> parts;
    while (at_ < text_.size() && !Looking("|") && !Looking(")")) {
      const std::size_t begin = at_;
      LATTICE_TRY(AnchoredExpr atom, Atom(depth));
      LATTICE_TRY(const Bounds bounds, Quantifier());
      if (bounds.given) {
        if (atom.has_anchor && bounds.max > 1) {
          at_ = begin;
          return Unsupported("an anchor within a repetition");
        }
        atom = anchored_.Repeat(atom, bounds.min, bounds.max);
      }
      parts.push_back(std::move(atom));
    }
    AnchoredExpr all = anchored_.Empty();
    for (std::size_t i = parts.size(); i-- > 0;) all = anchored_.Concat(parts[i], all);
    return all;
  }

  Result<Bounds> Quantifier() {
    Bounds bounds;
    if (Take("*")) {
      bounds = {0, kNoLimit, true};
    } else if (Take("+")) {
      bounds = {1, kNoLimit, true};
    } else if (Take("?")) {
      bounds = {0, 1, true};
    } else if (Looking("{") && at_ + 1 < text_.size() &&
               (HexDigit(text_[at_ + 1]) >= 0 || text_[at_ + 1] == ',')) {
      LATTICE_TRY(bounds, Braces());
    } else {
      return bounds;
    }
    if (Take("?")) return bounds;  // the same texts, found in another order
    if (Looking("+")) return Unsupported("a possessive quantifier");
    if (Looking("*")) return Bad("a quantifier behind a quantifier");
    return bounds;
  }

  Result<std::uint32_t> Number() {
    std::uint64_t n = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      n = std::min<std::uint64_t>(n * 10 + static_cast<std::uint64_t>(text_[at_] - '0'), kNoLimit);
    }
    if (at_ == begin) return Bad("a number is missing in {...}");
    if (n >= kNoLimit) return Bad("a number in {...} is too large");
    return static_cast<std::uint32_t>(n);
  }

  Result<Bounds> Braces() {
    const std::size_t begin = at_;
    Take("{");
    LATTICE_TRY(const std::uint32_t min, Number());
    Bounds bounds{min, min, true};
    if (Take(",")) {
      if (Looking("}")) {
        bounds.max = kNoLimit;
      } else {
        LATTICE_TRY(bounds.max, Number());
      }
    }
    if (!Take("}")) return Bad("'}' is missing");
    if (bounds.min > bounds.max) {
      at_ = begin;
      return Bad("{m,n} with m greater than n");
    }
    return bounds;
  }

  Result<AnchoredExpr> Atom(std::size_t depth) {
    if (Take("(")) return Group(depth);
    if (Take("^") || Take("\\A")) return anchored_.Start();
    if (Take("$") || Take("\\z") || Take("\\Z")) return anchored_.End();
    if (Take(".")) return OneOf(options_.dot_matches_newline ? CharSet::All() : AllButLineEnds());
    if (Take("[")) return Class();
    if (Looking("*") || Looking("+") || Looking("?")) return Bad("a quantifier without an item");
    if (Looking("\\")) {
      LATTICE_TRY(const CharSet set, Escape());
      return OneOf(set);
    }
    return OneOf(CharSet::Of(TakeChar()));
  }

  Result<AnchoredExpr> Group(std::size_t depth) {
    if (Looking("?=") || Looking("?!")) return Unsupported("lookahead");
    if (Looking("?<=") || Looking("?<!")) return Unsupported("lookbehind");
    if (Take("?<") || Take("?P<")) {
      const std::size_t end = text_.find('>', at_);
      if (end == std::string_view::npos) return Bad("a group's name does not end");
      at_ = end + 1;
    } else if (!Take("?:") && Looking("?")) {
      return Unsupported("this kind of group");
    }
    LATTICE_TRY(AnchoredExpr inner, Alternatives(depth + 1));
    if (!Take(")")) return Bad("')' is missing");
    return inner;
  }

  Result<AnchoredExpr> Class() {
    const bool negated = Take("^");
    std::vector<CharSet::Range> ranges;
    const auto add = [&ranges](const CharSet& set) {
      ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
    };
    while (!Take("]")) {
      if (at_ >= text_.size()) return Bad("']' is missing");
      bool is_set = false;
      LATTICE_TRY(const CharSet low, ClassItem(is_set));
      const bool is_range = Looking("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range || is_set) {
        add(low);
        continue;
      }
      Take("-");
      const std::size_t begin = at_;
      LATTICE_TRY(const CharSet high, ClassItem(is_set));
      if (is_set) {  // [a-\d]: the hyphen is one
        add(low);
        add(high);
        add(CharSet::Of('-'));
        continue;
      }
      if (low.empty() || high.empty() || low.ranges()[0].first > high.ranges()[0].first) {
        at_ = begin;
        return Bad("a range that does not rise");
      }
      ranges.push_back({low.ranges()[0].first, high.ranges()[0].first});
    }
    CharSet set = CharSet::OfRanges(ranges);
    if (options_.case_insensitive) set = set.WithAsciiCases();
    return OneOf(negated ? set.Complement() : set);
  }

  // is_set  whether it stands for more than a character, so that no range begins with it.
  Result<CharSet> ClassItem(bool& is_set) {
    if (!Looking("\\")) return CharSet::Of(TakeChar());
    if (Take("\\b")) return CharSet::Of(0x8);
    if (Take("\\-")) return CharSet::Of('-');
    constexpr std::string_view kSets = "dDwWsSpP";
    is_set = at_ + 1 < text_.size() && kSets.find(text_[at_ + 1]) != std::string_view::npos;
    return Escape();
  }

  Result<CharSet> Escape() {
    const std::size_t begin = at_;
    Take("\\");
    if (at_ >= text_.size()) return Bad("a backslash at the end");
    const char32_t c = TakeChar();
    const bool unicode = options_.unicode_classes;
    switch (c) {
      case 'd':
        return CharSet::Digits(unicode);
      case 'D':
        return CharSet::Digits(unicode).Complement();
      case 'w':
        return CharSet::WordChars(unicode);
      case 'W':
        return CharSet::WordChars(unicode).Complement();
      case 's':
        return CharSet::Whitespace(unicode || options_.unicode_spaces);
      case 'S':
        return CharSet::Whitespace(unicode || options_.unicode_spaces).Complement();
      case 't':
        return CharSet::Of('\t');
      case 'n':
        return CharSet::Of('\n');
      case 'r':
        return CharSet::Of('\r');
      case 'v':
        return CharSet::Of('\v');
      case 'f':
        return CharSet::Of('\f');
      case 'a':
        return CharSet::Of('\a');
      case 'p':
      case 'P':
        return PropertyEscape(c == 'P');
      case 'x':
        return HexEscape(2);
      case 'u':
        return UnicodeEscape();
      case 'c':
        if (at_ < text_.size() && ((text_[at_] >= 'a' && text_[at_] <= 'z') ||
                                   (text_[at_] >= 'A' && text_[at_] <= 'Z'))) {
          return CharSet::Of(TakeChar() % 32);
        }
        return Bad("\\c without a letter");
      case '0':
        if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return CharSet::Of(0);
        break;
      default:
        break;
    }
    if (c >= 0x80 || (c < 0x80 && kPunctuation.find(static_cast<char>(c)) != kPunctuation.npos)) {
      return CharSet::Of(c);
    }
    at_ = begin;
    if (c == 'b' || c == 'B') return Unsupported("a word boundary");
    if ((c >= '0' && c <= '9') || c == 'k') return Unsupported("a back reference");
    return Bad("an unknown escape");
  }

  Result<CharSet> PropertyEscape(bool negated) {
    std::string_view name = text_.substr(at_, 1);
    if (Take("{")) {
      const std::size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) return Bad("'}' is missing");
      name = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      at_ = std::min(at_ + 1, text_.size());
    }
    auto set = CharSet::Property(name);
    if (!set) return At(set.error().code, set.error().message);
    return negated ? set->Complement() : *set;
  }

  Result<char32_t> Hex(std::size_t n_digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < n_digits; ++i, ++at_) {
      const int digit = at_ < text_.size() ? HexDigit(text_[at_]) : -1;
      if (digit < 0) return Bad("a hexadecimal digit is missing");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    return value;
  }

  Result<CharSet> HexEscape(std::size_t n_digits) {
    LATTICE_TRY(const char32_t value, Hex(n_digits));
    return CharSet::Of(value);
  }

  Result<CharSet> UnicodeEscape() {
    if (Take("{")) {
      const std::size_t end = text_.find('}', at_);
      if (end == std::string_view::npos || end == at_ || end - at_ > 6) {
        return Bad("\\u{...} has 1 to 6 digits");
      }
      LATTICE_TRY(const char32_t value, Hex(end - at_));
      Take("}");
      if (value > 0x10FFFF) return Bad("no such character");
      return CharSet::Of(value);
    }
    LATTICE_TRY(const char32_t first, Hex(4));
    if (first < 0xD800 || first > 0xDFFF) return CharSet::Of(first);
    if (first > 0xDBFF || !Take("\\u")) return Unsupported("half of a surrogate pair");
    LATTICE_TRY(const char32_t second, Hex(4));
    if (second < 0xDC00 || second > 0xDFFF) return Unsupported("half of a surrogate pair");
    return CharSet::Of(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  GrammarBuilder& builder_;
  AnchoredBuilder anchored_;
  RegexOptions options_;
};

}  // namespace

Result<Expr> ParseRegex(std::string_view pattern, GrammarBuilder& builder,
                        const RegexOptions& options) {
  return RegexParser(pattern, builder, options).Parse();
}

}  // namespace lattice::grammar
