#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {

/// A row v[t] = x[t] * factor[t] as v[t] ~ scale * (q[t] - zero), q in 0..255, but for its value of
/// largest magnitude, which is kept as it is: in transformers one value of a row is often many
/// times the others, and would take most of their steps.
///
/// Outlier    the largest magnitude; the positive one of two such; the first of equal values.
/// Others     low = min(0, v), high = max(0, v), scale = (high - low) / 255, inverse =
///            255 / (high - low), zero = round(-low * inverse),
///            q[t] = clamp(round(v[t] * inverse) + zero); round is to nearest even.
/// Extremes   when high - low is below 1e-30, scale and inverse are 0. When it overflows, the scale
///            is infinite. The results of a row with a NaN mean nothing.
/// Padding    q past k is 0.
/// All variants give the same bits for rows without a NaN.
struct QuantiseRowVariant {
  const char* name;
  CpuFeatures needs;
  QuantiseRowFn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const QuantiseRowVariant> QuantiseRowVariants();
const QuantiseRowVariant& SelectQuantiseRow(CpuFeatures cpu);

}  // namespace lattice::kernels
