#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/quantise_blocks/variants.h"

namespace lattice::kernels {

/// A row in blocks of 32 values: x[t] ~ scale * q[t], scale = largest magnitude / 127, q to nearest
/// even. A block whose largest magnitude is below 1e-30 is zeros with a scale of 0. What becomes of
/// a block with a NaN or an infinity means nothing, but its scale is not finite or its values are
/// within -127..127 all the same. All variants give the same bits.
struct QuantiseBlocksVariant {
  const char* name;
  CpuFeatures needs;
  QuantiseBlocksFn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const QuantiseBlocksVariant> QuantiseBlocksVariants();
const QuantiseBlocksVariant& SelectQuantiseBlocks(CpuFeatures cpu);

}  // namespace lattice::kernels
