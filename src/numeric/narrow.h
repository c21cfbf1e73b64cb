#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "numeric/dtype.h"

namespace lattice {

/// What NarrowFromF32 writes: F32, F16, BF16, and the blocks of CanQuantise.
bool CanNarrow(Dtype dtype);

/// The place of the first value that `dtype` cannot stand for: NaN, an infinity, and for all but
/// F32 and BF16 what is beyond the largest f16 (65504), which block scales share.
std::optional<std::size_t> FindUnstorable(Dtype dtype, std::span<const float> values);

/// The opposite of WidenToF32: rounds to nearest even, or as QuantiseBlocks does.
///
/// values  whole blocks, all of which can be stored (see above).
/// out     StorageBytes(dtype, values.size()) bytes, any alignment.
/// dtype   CanNarrow(dtype).
void NarrowFromF32(Dtype dtype, std::span<const float> values, std::span<std::byte> out);

}  // namespace lattice
