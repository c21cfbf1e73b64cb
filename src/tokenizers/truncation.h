#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lattice::tokenizers {

/// How many tokens of a pair of texts fit into max_tokens, the longer text losing first (the
/// reference's "longest_first", computed at once rather than token by token). For one text,
/// n_second is 0.
inline std::pair<std::size_t, std::size_t> TruncatedLengths(std::size_t n_first,
                                                            std::size_t n_second,
                                                            std::size_t max_tokens) {
  if (n_first + n_second <= max_tokens) return {n_first, n_second};
  std::size_t shorter = std::min(n_first, n_second);
  std::size_t longer = shorter > max_tokens ? shorter : std::max(shorter, max_tokens - shorter);
  if (shorter + longer > max_tokens) {
    shorter = max_tokens / 2;
    longer = shorter + max_tokens % 2;
  }
  return n_first <= n_second ? std::pair(shorter, longer) : std::pair(longer, shorter);
}

}  // namespace lattice::tokenizers
