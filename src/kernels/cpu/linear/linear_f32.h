#pragma once

#include <memory>

#include "base/cpu_features.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/linear/panel_arena.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

/// A layer computed in f32, see gemm_f32.h.
std::unique_ptr<CpuLinear> MakeLinearF32(ThreadPool& pool, PanelArena& arena,
                                         const StackedRows& weights, CpuFeatures features);

}  // namespace lattice::kernels
