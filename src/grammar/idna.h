#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lattice::grammar {

/// What Punycode spells, without the prefix "xn--".
struct Decoded {
  enum class End { kWhole, kUnfinished, kWrong };  ///< kWrong: whatever letters and digits follow.
  End end = End::kWhole;
  std::u32string label;  ///< Up to there.
};

/// Source  RFC 3492.
Decoded DecodePunycode(std::string_view ascii);
std::string EncodePunycode(std::u32string_view label);

/// Whether some label has this character (RFC 5892, section 3).
bool IsLabelCharacter(char32_t c);

/// What the rules of names that mix writing directions ask to know of a label.
struct LabelDirection {
  bool is_rtl = false;      ///< Holds a character of a script that is written right to left.
  bool follows_ltr = true;  ///< May stand in a name that has such labels elsewhere.
};

/// Of a label in Unicode that names may have, its direction; absent for others. Characters are
/// those of utf8proc's Unicode. Source  RFC 5891 section 4.2, RFC 5892, RFC 5893.
std::optional<LabelDirection> CheckLabel(std::u32string_view label);

/// The same of what stands behind "xn--" in a label: lower case, spelling in the one way a label
/// with a character outside ASCII.
std::optional<LabelDirection> CheckALabel(std::string_view ascii);

}  // namespace lattice::grammar
