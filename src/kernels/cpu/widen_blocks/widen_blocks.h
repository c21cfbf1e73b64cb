#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/widen_blocks/variants.h"

namespace lattice::kernels {

/// Values of a block format as f32: those of numeric/decode_blocks.h, bit for bit, in all variants.
struct WidenBlocksVariant {
  const char* name;
  CpuFeatures needs;
  WidenBlocksFn run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const WidenBlocksVariant> WidenBlocksVariants();
const WidenBlocksVariant& SelectWidenBlocks(CpuFeatures cpu);

}  // namespace lattice::kernels
