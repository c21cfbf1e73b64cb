#pragma once

#include <memory>
#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/linear/linear.h"

namespace lattice::kernels {

/// See Backend::MakeStoredLinear. Nothing is packed: the layer holds pointers and its bias.
Result<std::unique_ptr<LinearWeights>> MakeCpuStoredLinear(std::span<const HostTensor> matrices,
                                                           std::span<const HostTensor> biases,
                                                           Precision precision,
                                                           CpuFeatures features);

}  // namespace lattice::kernels
