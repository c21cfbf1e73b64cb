#pragma once

#include <memory>

#include "base/cpu_features.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/linear/panel_arena.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

/// A layer computed in int8, see gemm_int8.h. kCorruptData when a weight is not finite,
/// kUnsupported when an output has more than kInt8MaxInputs inputs.
Result<std::unique_ptr<CpuLinear>> MakeLinearInt8(ThreadPool& pool, PanelArena& arena,
                                                  const StackedRows& weights, CpuFeatures features);

}  // namespace lattice::kernels
