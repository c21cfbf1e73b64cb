#pragma once

#include <memory>

#include "base/cpu_features.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/linear/panel_arena.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

/// A layer computed in bf16 with f32 sums, see gemm_bf16.h.
std::unique_ptr<CpuLinear> MakeLinearBf16(ThreadPool& pool, PanelArena& arena,
                                          const StackedRows& weights, CpuFeatures features);

}  // namespace lattice::kernels
