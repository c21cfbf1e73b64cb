#pragma once

#include <string_view>

#include "base/cpu_features.h"
#include "fann/units/units.h"
#include "vectors/product/product.h"

namespace lattice::fann {

/// The functions of one instruction set that this room computes with.
struct Kernels {
  const UnitFns* units = nullptr;
  vectors::ProductFn product = nullptr;
};

/// Those of `instruction_set`; empty: the best of this processor. Errors as CpuFeatures::Named.
inline Result<Kernels> FindKernels(std::string_view instruction_set) {
  CpuFeatures cpu = CpuFeatures::Detect();
  if (!instruction_set.empty()) {
    LATTICE_TRY(cpu, CpuFeatures::Named(instruction_set));
  }
  return Kernels{&SelectUnits(cpu), vectors::SelectProduct(cpu)};
}

}  // namespace lattice::fann
