#pragma once

#include "base/cpu_features.h"
#include "kernels/cpu/bf16_panels/variants.h"

namespace lattice::kernels {

/// Products of rows of x in bf16 with block-quantised weights rounded to bf16, for processors whose
/// bf16 tiles outrun their 8-bit products by more than expanding costs.
///
/// An output adds pairs of products in f32 in rising order of inputs, in the tile instruction's own
/// rounding (denormals count as zeros): the same bits for one row and for many, from expanded and
/// from packed weights.
/// Errors  none: preconditions only. y aliases no input.
///
/// Null where the processor has no such tiles.
const Bf16PanelsFns* FindBf16Panels(CpuFeatures cpu);

}  // namespace lattice::kernels
