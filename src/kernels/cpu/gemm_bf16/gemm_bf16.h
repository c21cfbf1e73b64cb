#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {

/// y = x W^T + bias [+ residual], x and weights in bf16, sums in f32.
///
/// Order      one chain of additions over rising inputs; bias and residual last. Variants without
///            bf16 instructions multiply and add in f32 and give equal bits. The bf16 instructions
///            of each processor round the sum of two or four products in their own way: their
///            results differ from those, and from each other, in the last bits of f32. A variant
///            gives one row and many the same bits.
/// Layout     panel p holds outputs [32 p, 32 p + 32): element [t / g][j][t % g] is w[32 p + j][t]
///            with g the variant's `group`; outputs past n and inputs past the layer's are zero.
/// Aliasing   y may be the residual; otherwise outputs alias no input.
/// Errors     none: preconditions only.
struct GemmBf16Variant {
  const char* name;
  CpuFeatures needs;
  GemmBf16Fn run;
  std::size_t group;  ///< Inputs of one output that lie together: 2 or 4.
  bool exact_order;   ///< Gives the bits of scalar.
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const GemmBf16Variant> GemmBf16Variants();
const GemmBf16Variant& SelectGemmBf16(CpuFeatures cpu);

}  // namespace lattice::kernels
