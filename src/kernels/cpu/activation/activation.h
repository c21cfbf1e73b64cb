#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/activation/variants.h"

namespace lattice::kernels {

struct ActivationVariant {
  const char* name;
  CpuFeatures needs;
  const ActivationKernels* run;
};

/// Fastest first; the last row runs anywhere. All rows give the same bits. Against f64 over all
/// floats: erf GELU within 2.5 ulp (mean 0.4), SiLU 2.9, tanh 1.5, tanh GELU 3.5 and growing with
/// the exponent in the far negative tail.
std::span<const ActivationVariant> ActivationVariants();
const ActivationKernels& SelectActivation(CpuFeatures features);

/// The kernel of `activation`, for a caller that has a tile of results at hand; null for kNone.
MapFn MapOf(const ActivationKernels& kernels, Activation activation);
/// The same for results that are rounded to 8 bits next (bf16, int8): erf GELU within 4.6e-5.
MapFn RoughMapOf(const ActivationKernels& kernels, Activation activation);
/// activation must not be kNone.
GateFn GateOf(const ActivationKernels& kernels, Activation activation);

}  // namespace lattice::kernels
