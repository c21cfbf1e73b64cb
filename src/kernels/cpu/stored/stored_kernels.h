#pragma once

#include "base/cpu_features.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/bf16_panels/bf16_panels.h"
#include "kernels/cpu/dot_bf16/dot_bf16.h"
#include "kernels/cpu/dot_blocks/dot_blocks.h"
#include "kernels/cpu/dot_f32/dot_f32.h"
#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/quantise_blocks/quantise_blocks.h"
#include "kernels/cpu/round_rows/round_rows.h"
#include "kernels/cpu/widen_blocks/widen_blocks.h"

namespace lattice::kernels {

/// The kernels of stored weights that one set of features selects.
struct StoredKernels {
  explicit StoredKernels(CpuFeatures cpu)
      : features(cpu),
        dot_f32(SelectDotF32(features).run),
        widen_row(SelectDotF32(features).widen),
        dot_bf16(FindDotBf16(features)),
        dot_blocks(SelectDotBlocks(features)),
        packed(SelectPackedBlocks(features).run),
        bf16_panels(FindBf16Panels(features)),
        round_row(SelectRoundRow(features).run),
        quantise_blocks(SelectQuantiseBlocks(features).run),
        activations(SelectActivation(features)),
        widen_blocks(SelectWidenBlocks(features).run) {}

  CpuFeatures features;
  DotF32Fn dot_f32;
  WidenRowFn widen_row;
  const DotBf16Variant* dot_bf16;  ///< May be null: then bf16 products are those of dot_f32.
  const DotBlocksVariant& dot_blocks;
  const PackedBlocksFns* packed;
  const Bf16PanelsFns* bf16_panels;  ///< May be null: then kBf16 widens packed weights row by row.
  RoundRowFn round_row;
  QuantiseBlocksFn quantise_blocks;
  const ActivationKernels& activations;
  WidenBlocksFn widen_blocks;
};

}  // namespace lattice::kernels
