#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/norm/variants.h"

namespace lattice::kernels {

/// LayerNorm (Ba et al. 2016) and RmsNorm (Zhang and Sennrich 2019). Sums are f32: 64 partial sums
/// (element i into partial i mod 64), then one fixed tree, so that every row of the table gives the
/// same bits. The variance is the mean square of what is left after the mean was taken away.
struct NormVariant {
  const char* name;
  CpuFeatures needs;
  const NormKernels* run;
};

/// Fastest first; the last row runs anywhere.
std::span<const NormVariant> NormVariants();
const NormKernels& SelectNorm(CpuFeatures features);

}  // namespace lattice::kernels
