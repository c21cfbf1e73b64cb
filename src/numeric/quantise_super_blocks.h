#pragma once

#include <span>

#include "numeric/blocks.h"

namespace lattice {

/// Searches scales (and minima) that make the weighted squared error of a block small: first for
/// each group by itself, then for the group scales as the block can hold them, then for the block's
/// own scales. A value's error counts as |value| plus the block's root mean square: large weights
/// matter more to what a layer computes. The result depends on the values alone.
///
/// values  finite, |v| <= 65504 (the largest f16).
void QuantiseBlock(std::span<const float, 256> values, BlockQ4K& block);
void QuantiseBlock(std::span<const float, 256> values, BlockQ5K& block);
void QuantiseBlock(std::span<const float, 256> values, BlockQ6K& block);

}  // namespace lattice
