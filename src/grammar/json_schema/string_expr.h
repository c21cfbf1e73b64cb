#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "grammar/grammar.h"

namespace lattice::grammar {

/// How strings are written, where that is not JSON.
struct StringStyle {
  bool escaped = true;       ///< With JSON's escapes; else each character stands for itself.
  std::string quote = "\"";  ///< Before and behind each string.
  std::string never = {};    ///< What no string holds: it would end it. Nothing if empty.
  bool bare_names = false;   ///< Names of members are bare where they are plain words.
};

/// Regular expressions of JSON strings with their quotes, by what the strings say.
///
/// Each character has one spelling: itself, but for the quote, the backslash and what is below
/// U+0020, which are \" \\ \b \t \n \f \r, or \u and four digits (hexadecimal, either case).
/// So to say something of the characters is to say it of the text, complements included.
class StringExprs {
 public:
  explicit StringExprs(GrammarBuilder& builder, StringStyle style = {});

  /// One character out of the set.
  Expr Chars(const CharSet& set);
  /// The text between the quotes.
  Expr Spelling(std::string_view utf8);

  Expr any() const { return any_; }  ///< Every string.
  Expr any_chars() const { return any_chars_; }
  Expr quote() const { return quote_; }
  Expr Quoted(Expr inner);
  Expr Literal(std::string_view utf8) { return Quoted(Spelling(utf8)); }
  Expr Name(std::string_view utf8);                     ///< Of a member that is declared.
  Expr OfLength(std::uint32_t min, std::uint32_t max);  ///< In characters.
  /// Strings in some part of which the pattern (ECMAScript) matches.
  Result<Expr> Matching(std::string_view pattern);
  /// What stands between the quotes of strings that match the pattern as a whole.
  Result<Expr> InsideMatching(std::string_view pattern);
  /// All strings but these.
  Expr AllBut(std::span<const std::string> names);
  bool Matches(Expr strings, std::string_view utf8);

 private:
  GrammarBuilder& builder_;
  StringStyle style_;
  Expr quote_;
  Expr any_char_;
  Expr any_chars_;
  Expr any_;
};

/// A JSON string's text, in that spelling, with quotes.
std::string SpellString(std::string_view utf8);

}  // namespace lattice::grammar
