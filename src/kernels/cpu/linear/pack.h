#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kernels/cpu/linear/stacked_rows.h"

namespace lattice::kernels {

/// Writes the layout of gemm_f32.h; panels.size() = ceil(outputs / 32) * inputs * 32.
void PackF32(ThreadPool& pool, const StackedRows& weights, std::span<float> panels);

}  // namespace lattice::kernels
