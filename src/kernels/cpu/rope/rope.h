#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/rope/variants.h"

namespace lattice::kernels {

/// Rotary embedding (Su et al. 2021, "RoFormer") with pairs (i, i + half). Angles are f32 products
/// of position and inv_freq, as in the reference implementation; sine and cosine of them are good
/// to 1e-7 for angles up to 2^17. Computed for each row once, for all its heads.
struct RopeVariant {
  const char* name;
  CpuFeatures needs;
  RopeFn run;
};

/// Fastest first; the last row runs anywhere. All rows give the same bits.
std::span<const RopeVariant> RopeVariants();
RopeFn SelectRope(CpuFeatures features);

}  // namespace lattice::kernels
