#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"

namespace lattice::kernels {

/// The first row of a kernel's table whose needs `features` meet. The last row needs nothing.
template <typename Variant>
const Variant& SelectVariant(std::span<const Variant> table, CpuFeatures features) {
  std::size_t i = 0;
  while (!features.Has(table[i].needs)) ++i;
  return table[i];
}

}  // namespace lattice::kernels
