#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lattice {

/// One step of decoding: the scalar value and how many bytes it took. An ill-formed sequence gives
/// U+FFFD and the length of its maximal subpart (Unicode 15, section 3.9, table 3-7), at least 1.
struct Utf8Step {
  char32_t scalar;
  std::uint32_t n_bytes;
  bool valid;
};

/// Decodes the first scalar of a non-empty text.
Utf8Step DecodeUtf8(std::string_view text);

/// Appends a scalar value (not a surrogate, at most U+10FFFF) as UTF-8.
void AppendUtf8(char32_t scalar, std::string& out);

/// How many of the first bytes are ASCII.
std::size_t AsciiPrefixLength(std::string_view text);

bool IsValidUtf8(std::string_view text);

/// The text itself when valid; otherwise with each maximal ill-formed subpart replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);

}  // namespace lattice
