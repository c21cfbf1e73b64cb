#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace lattice::chat {

/// How many bytes at the end of `text` may be the beginning of `marker`, which is not empty.
inline std::size_t PartialMarker(std::string_view text, std::string_view marker) {
  for (std::size_t n = std::min(text.size(), marker.size() - 1); n > 0; --n) {
    if (text.ends_with(marker.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace lattice::chat
