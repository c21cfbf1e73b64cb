#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {

/// Products of rows of x in 8-bit blocks with panels of block-quantised weights.
///
/// For each group g of 16 or 32 weights, with s the scale of x's block and q its integers:
///   sum   = sum of q * (w - zero), exact in i32
///   y = fma(sum, w_scale * s, y)
///   y = fma(w_min, s * (sum of q), y)          when the format has a minimum
/// g rising, y zero at first. All variants, and one row and many, add in this order: equal bits.
/// Errors  none: preconditions only. y aliases no input.
struct DotBlocksVariant {
  const char* name;
  CpuFeatures needs;
  DotBlocksFn run;
  bool signed_weights = false;  ///< Reads groups of 32 as signed bytes, less their zero.

  /// The zero of the integers that it reads.
  std::int32_t Zero(std::size_t group, std::int32_t zero) const {
    return signed_weights && group == 32 ? 0 : zero;
  }
  /// Makes a panel of k inputs with that group and zero what it reads.
  void Suit(std::size_t group, std::int32_t zero, std::size_t k, const BlockPanel& panel) const;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const DotBlocksVariant> DotBlocksVariants();
const DotBlocksVariant& SelectDotBlocks(CpuFeatures cpu);

}  // namespace lattice::kernels
