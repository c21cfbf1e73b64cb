#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {

/// y = x W^T + bias [+ residual] in f32, weights packed into panels of 32 outputs.
///
/// Order      y[i][j] = ((c_0 + c_1) + c_2 ...) + bias[j] + residual[i][j], where c_b is the sum
/// over
///            inputs [256 b, 256 (b + 1)) of x[i][t] * w[j][t]: fused multiply-adds from zero, t
///            rising. All variants, and one row and many, add in this order: equal bits.
/// Layout     panel p holds outputs [32 p, 32 p + 32): element [t][j] is W[32 p + j][t]; outputs
/// past n
///            are zero.
/// Aliasing   y may be the residual; otherwise outputs alias no input.
/// Errors     none: preconditions only.
struct GemmF32Variant {
  const char* name;
  CpuFeatures needs;
  GemmF32Fn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const GemmF32Variant> GemmF32Variants();
const GemmF32Variant& SelectGemmF32(CpuFeatures cpu);

}  // namespace lattice::kernels
