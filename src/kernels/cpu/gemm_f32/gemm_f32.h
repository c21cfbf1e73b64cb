#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {

/// y = x W^T + bias [+ residual] in f32, weights packed into panels of 32 outputs.
///
/// Order      y[i][j] = ((c_0 + c_1) + c_2 ...) + bias[j] + residual[i][j], where c_b is the sum of
///            x[i][t] * w[j][t] over the inputs t of [256 b, 256 (b + 1)): fused multiply-adds from
///            zero, t rising. Variants with `exact_order` all give these bits, for one row and
///            many.
/// AMX        multiplies bf16 numbers: inputs and weights are split into three of them, and six of
///            the nine products are added up, in blocks of 256 inputs as well. The error is that of
///            f32, the bits are not those of the other variants; one row and many have the same. An
///            infinity becomes a NaN.
/// Layout     panel p holds outputs [32 p, 32 p + 32): element [t][j] is w[32 p + j][t]; outputs
///            past n are zero.
/// Aliasing   y may be the residual; otherwise outputs alias no input.
/// Errors     none: preconditions only.
struct GemmF32Variant {
  const char* name;
  CpuFeatures needs;
  GemmF32Fn run;
  std::size_t scratch_per_input;  ///< Bytes of scratch for each of k rounded up to 32, and row.
  std::size_t block_rows;         ///< Most rows of a call that still run at full speed.
  bool exact_order;
};

/// Bytes that GemmF32Args::scratch needs.
std::size_t GemmF32ScratchBytes(const GemmF32Variant& variant, std::size_t m, std::size_t k);

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const GemmF32Variant> GemmF32Variants();
const GemmF32Variant& SelectGemmF32(CpuFeatures cpu);

}  // namespace lattice::kernels
