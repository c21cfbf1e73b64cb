#pragma once

#include <string_view>

#include "base/cpu_features.h"
#include "transport/rows/rows.h"
#include "vectors/dot/dot.h"
#include "vectors/product/product.h"

namespace lattice::transport {

/// The functions of one instruction set that this room computes with.
struct Kernels {
  const RowFns* rows = nullptr;
  const vectors::DotFns* dot = nullptr;
  vectors::ProductFn product = nullptr;
};

inline Kernels SelectKernels(CpuFeatures cpu) {
  return {&SelectRows(cpu), vectors::SelectDot(cpu).fns, vectors::SelectProduct(cpu)};
}

/// Those of `instruction_set`; empty: the best of this processor. Errors as CpuFeatures::Named.
inline Result<Kernels> FindKernels(std::string_view instruction_set) {
  if (instruction_set.empty()) return SelectKernels(CpuFeatures::Detect());
  LATTICE_TRY(const CpuFeatures cpu, CpuFeatures::Named(instruction_set));
  return SelectKernels(cpu);
}

}  // namespace lattice::transport
