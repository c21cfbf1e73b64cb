#pragma once

#include <memory>
#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/weight_memory.h"
#include "kernels/cpu/linear/linear.h"

namespace lattice::kernels {

/// kInt8 and kInt16: block formats are multiplied as integers, see Backend::MakeStoredLinear.
inline bool MultipliesIntegers(Precision precision) {
  return precision == Precision::kInt8 || precision == Precision::kInt16;
}

/// See Backend::Packs.
bool PacksStored(Dtype dtype, Precision precision, CpuFeatures features);

/// See Backend::MakeStoredLinear.
Result<std::unique_ptr<LinearWeights>> MakeCpuStoredLinear(ThreadPool& pool, WeightMemory& memory,
                                                           std::span<const HostTensor> matrices,
                                                           std::span<const HostTensor> biases,
                                                           Precision precision,
                                                           CpuFeatures features);

}  // namespace lattice::kernels
