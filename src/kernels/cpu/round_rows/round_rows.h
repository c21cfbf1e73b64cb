#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/round_rows/variants.h"

namespace lattice::kernels {

/// out[t] = x[t] as bf16, to nearest even, a NaN stays a NaN; 0 for k <= t < k_padded. All variants
/// give the same bits.
struct RoundRowVariant {
  const char* name;
  CpuFeatures needs;
  RoundRowFn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const RoundRowVariant> RoundRowVariants();
const RoundRowVariant& SelectRoundRow(CpuFeatures cpu);

}  // namespace lattice::kernels
