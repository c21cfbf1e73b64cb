#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {

/// y = x W^T + bias [+ residual], x and W in 8 bits with one scale for each block of 128 inputs.
///
/// Value      y starts as bias[j]; for each block b in rising order,
///            y = fma(s, x_scale[i][b] * w_scale[j][b], y), where
///            s = sum_t (x[i][t] - x_zero[i][b]) * w[j][t] over the block; then [+ residual[i][j]].
///            |s| <= 255 * 127 * 128 < 2^24, so that s is exact in i32 and in f32: all variants,
///            and one row and many, give equal bits.
/// Layout     panel p holds outputs [32 p, 32 p + 32): byte [t / g][j][t % g] is w[32 p + j][t]
///            with g the variant's `group`; outputs past n and inputs past the layer's are zero.
/// Weights    -127..127.
/// Aliasing   y may be the residual; otherwise outputs alias no input.
/// Errors     none: preconditions only.
struct GemmInt8Variant {
  const char* name;
  CpuFeatures needs;
  GemmInt8Fn run;
  std::size_t group;  ///< Inputs of one output that lie together: 4 or 8.
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const GemmInt8Variant> GemmInt8Variants();
const GemmInt8Variant& SelectGemmInt8(CpuFeatures cpu);

}  // namespace lattice::kernels
