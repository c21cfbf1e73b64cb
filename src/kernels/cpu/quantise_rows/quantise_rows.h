#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {

/// A row of f32 as x[t] ~ scale * (q[t] - zero), q in 0..255.
///
/// low = min(0, x), high = max(0, x), scale = (high - low) / 255, zero = round(-low * (255 / (high
/// - low))), a whole number, q[t] = clamp(round(x[t] * (255 / (high - low))) + zero); round is to
/// nearest even. When high - low is below 1e-30 all q and the scale are 0; when it overflows, the
/// scale is infinite and q means nothing, as does the row when it holds a NaN. q past k is 0. All
/// variants give the same bits for finite rows.
struct QuantiseRowVariant {
  const char* name;
  CpuFeatures needs;
  QuantiseRowFn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const QuantiseRowVariant> QuantiseRowVariants();
const QuantiseRowVariant& SelectQuantiseRow(CpuFeatures cpu);

}  // namespace lattice::kernels
