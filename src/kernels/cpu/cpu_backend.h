#pragma once

#include <memory>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"

namespace lattice::kernels {

/// The backend for processors. Kernels are chosen once, from `features` (CpuFeatures::Detect(), or
/// a smaller set to pin an instruction set). `pool` must outlive the backend.
std::unique_ptr<Backend> MakeCpuBackend(ThreadPool& pool, CpuFeatures features);

}  // namespace lattice::kernels
