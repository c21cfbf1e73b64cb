#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lattice::tokenizers {

/// What tokenizers ask about a code point: bits.
enum CharClass : std::uint8_t {
  kLetter = 1,        ///< category L*
  kMark = 2,          ///< category M*
  kNumber = 4,        ///< category N*
  kSpace = 8,         ///< property White_Space
  kLineBreak = 16,    ///< carriage return or line feed; also kSpace
  kPunctuation = 32,  ///< ASCII punctuation (symbols too) or category P*
  kWord = 64,         ///< \w of a regular expression: letters, marks, digits, connectors
};

/// The classes of ASCII, for inner loops.
extern const std::array<std::uint8_t, 128> kAsciiClasses;

/// The classes of any code point.
std::uint8_t ClassesOf(char32_t c);

inline bool IsSpace(char32_t c) { return (ClassesOf(c) & kSpace) != 0; }
inline bool IsWordChar(char32_t c) { return (ClassesOf(c) & kWord) != 0; }

/// Properties as the reference's normalisers know them. Their tables are older than ours (Unicode
/// 8 and 9): code points assigned since then have none of these properties.
/// Source: the crates unicode_categories 0.1.1, unicode-normalization-alignments 0.1.12.
bool IsBertRemoved(char32_t c);     ///< NUL, U+FFFD, Cc, Cf, Co but for tab and line ends
bool IsNonspacingMark(char32_t c);  ///< Mn
bool IsCombiningMark(char32_t c);   ///< M*
std::uint8_t CombiningClass(char32_t c);

/// CJK ideographs that BERT's normaliser sets apart.
bool IsCjkIdeograph(char32_t c);

/// Full lower-case mapping of one code point, context-free; at most two code points.
/// Returns how many were written.
int ToLower(char32_t c, char32_t out[2]);

/// Canonical (or compatibility) decomposition of one code point, complete, at most 18 code points.
/// Returns how many were written; 1 and `c` itself when it does not decompose.
int Decompose(char32_t c, bool compatibility, char32_t out[18]);

/// The primary composite of a starter and a following code point; 0 when there is none.
char32_t Compose(char32_t first, char32_t second);

/// Whether `c` neither changes in the composed normal form nor can compose with what precedes it.
/// For most code points; some that would stay are said not to.
bool IsComposedStarter(char32_t c);

/// Length in bytes of the first extended grapheme cluster of a non-empty, valid text.
std::size_t GraphemeLength(std::string_view text);

}  // namespace lattice::tokenizers
