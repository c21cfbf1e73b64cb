#pragma once

#include <cstddef>
#include <span>

#include "numeric/dtype.h"

namespace lattice {

/// Formats that QuantiseBlocks writes: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
bool CanQuantise(Dtype dtype);

/// The plain quantisers of the GGUF format: each block by itself, scale from its extremes, rounded
/// to the nearest code.
///
/// values  whole blocks, finite; a scale beyond f16 becomes infinite, so |v| must stay below 8 *
/// 65504
///         (Q4_0, the smallest range of the five).
/// out     StorageBytes(dtype, values.size()) bytes, any alignment.
/// dtype   CanQuantise(dtype).
/// Source  the GGUF format's reference quantisers, equal bit for bit on values that are no
/// subnormals.
void QuantiseBlocks(Dtype dtype, std::span<const float> values, std::span<std::byte> out);

}  // namespace lattice
