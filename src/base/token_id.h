#pragma once

#include <cstdint>

namespace lattice {

/// Index of a token in a model's vocabulary, 0-based.
using TokenId = std::int32_t;

}  // namespace lattice
