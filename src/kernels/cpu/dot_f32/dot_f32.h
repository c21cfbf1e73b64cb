#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/dot_f32/variants.h"

namespace lattice::kernels {

/// Products of rows of x with rows of weights that are read where they lie.
///
/// Order   lane l of sixteen sums the inputs t = l (mod 16) by fused multiply-adds from zero, t
///         rising; then the upper half of the lanes is added to the lower one, four times. All
///         variants, and one row and many, add in this order: equal bits.
/// Errors  none: preconditions only. y aliases no input.
struct DotF32Variant {
  const char* name;
  CpuFeatures needs;
  DotF32Fn run;
  WidenRowFn widen;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const DotF32Variant> DotF32Variants();
const DotF32Variant& SelectDotF32(CpuFeatures cpu);

/// Rows of x that one pass over the weights serves: from this number on, widening 16-bit weights
/// once for all rows is cheaper than in registers.
inline constexpr std::size_t kDotF32PassRows = 6;

}  // namespace lattice::kernels
