#pragma once

#include <algorithm>
#include <iterator>
#include <span>

namespace lattice {

/// Code points from `first` to `last`.
struct CodePointRange {
  char32_t first, last;
};

/// Whether one of `ranges`, which rise and lie apart, holds c.
inline bool Holds(std::span<const CodePointRange> ranges, char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &CodePointRange::first);
  return after != ranges.begin() && c <= std::prev(after)->last;
}

}  // namespace lattice
