#include "grammar/json_schema/string_expr.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "grammar/regex.h"

namespace lattice::grammar {
namespace {

constexpr std::pair<char32_t, char> kShort[] = {{U'"', '"'},  {U'\\', '\\'}, {U'\b', 'b'},
                                                {U'\t', 't'}, {U'\n', 'n'},  {U'\f', 'f'},
                                                {U'\r', 'r'}};

std::optional<char> ShortEscape(char32_t c) {
  for (const auto& [character, letter] : kShort) {
    if (character == c) return letter;
  }
  return std::nullopt;
}

bool NeedsEscape(char32_t c) { return c < 0x20 || c == U'"' || c == U'\\'; }

CharSet Escaped() {
  CharSet set = CharSet::OfRange(0, 0x1F);
  set.Add('"', '"');
  set.Add('\\', '\\');
  return set;
}

}  // namespace

std::string SpellString(std::string_view utf8) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto letter = ShortEscape(byte); letter && byte < 0x80) {
      out += {'\\', *letter};
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

StringExprs::StringExprs(GrammarBuilder& builder, StringStyle style)
    : builder_(builder), style_(std::move(style)), quote_(builder.Literal(style_.quote)) {
  any_char_ = Chars(CharSet::All());
  any_chars_ = builder_.Repeat(any_char_, 0, kNoLimit);
  any_ = Quoted(any_chars_);
}

Expr StringExprs::Quoted(Expr inner) {
  if (!style_.never.empty()) {
    const Expr any = builder_.AnyText();
    inner = builder_.Minus(inner, builder_.Concat({any, builder_.Literal(style_.never), any}));
  }
  return builder_.Concat({quote_, inner, quote_});
}

Expr StringExprs::Name(std::string_view utf8) {
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool is_word = !utf8.empty() && utf8.find_first_not_of(kWord) == utf8.npos;
  return style_.bare_names && is_word ? builder_.Literal(utf8) : Literal(utf8);
}

Expr StringExprs::Chars(const CharSet& set) {
  if (!style_.escaped) return builder_.Chars(set);
  const CharSet escaped = set.Intersect(Escaped());
  std::vector<Expr> spellings;
  const CharSet plain = set.Minus(Escaped());
  if (!plain.empty()) spellings.push_back(builder_.Chars(plain));
  CharSet letters;
  for (const CharSet::Range& range : escaped.ranges()) {
    for (char32_t c = range.first; c <= range.last; ++c) {
      if (const auto letter = ShortEscape(c)) {
        letters.Add(static_cast<char32_t>(*letter), static_cast<char32_t>(*letter));
        continue;
      }
      const auto low = static_cast<std::uint8_t>(c & 15);
      CharSet digit = CharSet::Of(low < 10 ? U'0' + low : U'a' + low - 10);
      spellings.push_back(builder_.Concat({builder_.Literal(c < 16 ? "\\u000" : "\\u001"),
                                           builder_.Chars(digit.WithAsciiCases())}));
    }
  }
  if (!letters.empty()) {
    spellings.push_back(builder_.Concat({builder_.Literal("\\"), builder_.Chars(letters)}));
  }
  return builder_.Or(spellings);
}

Expr StringExprs::Spelling(std::string_view utf8) {
  if (!style_.escaped) return builder_.Literal(utf8);
  std::vector<Expr> parts;
  std::string plain;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (!NeedsEscape(byte)) {
      plain += c;
      continue;
    }
    if (!plain.empty()) parts.push_back(builder_.Literal(plain));
    plain.clear();
    parts.push_back(Chars(CharSet::Of(byte)));
  }
  if (!plain.empty()) parts.push_back(builder_.Literal(plain));
  return builder_.Concat(parts);
}

Expr StringExprs::OfLength(std::uint32_t min, std::uint32_t max) {
  return Quoted(builder_.Repeat(any_char_, min, max));
}

Result<Expr> StringExprs::Matching(std::string_view pattern) {
  RegexOptions options;
  options.search = true;
  options.unicode_spaces = true;
  options.chars = [this](const CharSet& set) { return Chars(set); };
  options.filler = any_chars_;
  LATTICE_TRY(const Expr inner, ParseRegex(pattern, builder_, options));
  return Quoted(inner);
}

Result<Expr> StringExprs::InsideMatching(std::string_view pattern) {
  RegexOptions options;
  options.chars = [this](const CharSet& set) { return Chars(set); };
  return ParseRegex(pattern, builder_, options);
}

bool StringExprs::Matches(Expr strings, std::string_view utf8) {
  if (style_.escaped) return builder_.Matches(strings, SpellString(utf8));
  return builder_.Matches(strings, style_.quote + std::string(utf8) + style_.quote);
}

Expr StringExprs::AllBut(std::span<const std::string> names) {
  if (names.empty()) return any_;
  std::vector<Expr> literals;
  for (const std::string& name : names) literals.push_back(Literal(name));
  return builder_.Minus(any_, builder_.Or(literals));
}

}  // namespace lattice::grammar
