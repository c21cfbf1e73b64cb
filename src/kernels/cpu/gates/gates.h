#pragma once

#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/gates/variants.h"

namespace lattice::kernels {

struct GateVariant {
  const char* name;
  CpuFeatures needs;
  const GateKernels* run;
};

/// Fastest first; the last row runs anywhere. All rows give the same bits. The sigmoid is within 2
/// ulp of its value above e^-88, and zero below.
std::span<const GateVariant> GateVariants();
const GateKernels& SelectGates(CpuFeatures features);

}  // namespace lattice::kernels
