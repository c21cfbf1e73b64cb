#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/token_id.h"

namespace lattice::engine {

/// How many tokens two texts begin with alike.
inline std::size_t CommonBeginning(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace lattice::engine
