#pragma once

#include <cstddef>
#include <span>

#include "numeric/dtype.h"

namespace lattice {

/// Formats that QuantiseBlocks writes: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
bool CanQuantise(Dtype dtype);

/// Blocks of 32: the plain quantisers of the GGUF format, each block by itself, scale from its
/// extremes, rounded to the nearest code; equal bit for bit to the format's reference quantisers on
/// values that are no subnormals. Blocks of 256: searched, see quantise_super_blocks.h.
///
/// values  whole blocks, finite, |v| <= 65504.
/// out     StorageBytes(dtype, values.size()) bytes, any alignment.
/// dtype   CanQuantise(dtype).
void QuantiseBlocks(Dtype dtype, std::span<const float> values, std::span<std::byte> out);

}  // namespace lattice
