#pragma once

#include "base/cpu_features.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/dot_bf16/dot_bf16.h"
#include "kernels/cpu/dot_f32/dot_f32.h"
#include "kernels/cpu/round_rows/round_rows.h"

namespace lattice::kernels {

/// The kernels of stored weights that one set of features selects.
struct StoredKernels {
  explicit StoredKernels(CpuFeatures features)
      : dot_f32(SelectDotF32(features).run),
        dot_bf16(FindDotBf16(features)),
        round_row(SelectRoundRow(features).run),
        activations(SelectActivation(features)) {}

  DotF32Fn dot_f32;
  const DotBf16Variant* dot_bf16;  ///< May be null: then bf16 products are those of dot_f32.
  RoundRowFn round_row;
  const ActivationKernels& activations;
};

}  // namespace lattice::kernels
