#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {

/// y = x W^T + bias [+ residual], x in 8 bits a row (quantise_rows.h), weights in 8 bits an output.
///
/// Value      y[i][j] = fma(w[j][o], v * w_scale[j], fma(f32(s), scale * w_scale[j], bias[j]))
///            [+ residual[i][j]] with scale, zero, outlier v and its place o of row i, where
///            s = sum_t (x[i][t] - zero) * w[j][t] is exact in 32 bits for k up to kInt8MaxInputs:
///            all variants, and one row and many, give equal bits.
/// Layout     panel p holds outputs [32 p, 32 p + 32): byte [t / g][j][t % g] is w[32 p + j][t]
/// with g the
///            variant's `group`; outputs past n and inputs past the layer's are zero.
/// Weights    -127..127.
/// Aliasing   y may be the residual; otherwise outputs alias no input.
/// Errors     none: preconditions only.
struct GemmInt8Variant {
  const char* name;
  CpuFeatures needs;
  GemmInt8Fn run;
  std::size_t group;  ///< Inputs of one output that lie together: 4 or 8.
  Int8InputForm input = {};
};

/// 65536 * 255 * 127 < 2^31.
inline constexpr std::size_t kInt8MaxInputs = 65536;

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const GemmInt8Variant> GemmInt8Variants();
const GemmInt8Variant& SelectGemmInt8(CpuFeatures cpu);

}  // namespace lattice::kernels
