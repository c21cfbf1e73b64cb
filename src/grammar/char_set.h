#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::grammar {

/// A set of Unicode scalar values (surrogates are never in it), as ranges that rise and lie apart.
class CharSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;  ///< Itself in the set.
    friend bool operator==(const Range&, const Range&) = default;
  };

  CharSet() = default;
  static CharSet All();
  static CharSet Of(char32_t c) { return OfRange(c, c); }
  static CharSet OfRange(char32_t first, char32_t last);
  /// In any order, overlapping or not; what is no scalar value is left out.
  static CharSet OfRanges(const std::vector<Range>& ranges);
  /// Every character of a valid UTF-8 text.
  static CharSet OfText(std::string_view text);
  /// A general category or a binary property by its name in Unicode: "L", "Lu", "Letter", "N",
  /// "Nd", "P", "White_Space", "Alphabetic", "ASCII", "Any", ... kUnsupported for others.
  static Result<CharSet> Property(std::string_view name);
  static CharSet Digits(bool unicode);      ///< \d: 0-9, or category Nd.
  static CharSet WordChars(bool unicode);   ///< \w: [A-Za-z0-9_], or letters, marks, digits, Pc.
  static CharSet Whitespace(bool unicode);  ///< \s: [\t\n\v\f\r ], or White_Space and U+FEFF.

  void Add(char32_t first, char32_t last);
  void Add(const CharSet& other);
  CharSet Complement() const;
  CharSet Intersect(const CharSet& other) const;
  CharSet Minus(const CharSet& other) const { return Intersect(other.Complement()); }
  /// With each ASCII letter, the same one in the other case.
  CharSet WithAsciiCases() const;

  bool Contains(char32_t c) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }
  friend bool operator==(const CharSet&, const CharSet&) = default;

 private:
  void Append(char32_t first, char32_t last);
  void Normalise();

  std::vector<Range> ranges_;
};

}  // namespace lattice::grammar
