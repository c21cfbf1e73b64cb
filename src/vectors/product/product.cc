#include "vectors/product/product.h"

#include <algorithm>

#include "lattice/check.h"

namespace lattice::vectors {
namespace {

constexpr ProductVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, ProductAvx512},
    {"avx2", CpuFeature::kAvx2, ProductAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, ProductNeon},
#endif
    {"scalar", {}, ProductScalar},
};

}  // namespace

std::span<const ProductVariant> ProductVariants() { return kVariants; }

ProductFn SelectProduct(CpuFeatures cpu) {
  const ProductVariant* variant = kVariants;
  while (!cpu.Has(variant->needs)) ++variant;
  return variant->run;
}

std::size_t PanelElements(std::size_t n_rows, std::size_t dims) {
  return (n_rows + kPanelColumns - 1) / kPanelColumns * kPanelColumns * dims;
}

void PackPanels(std::span<const float> x, std::size_t dims, std::span<float> out) {
  LATTICE_CHECK(dims > 0 && x.size() % dims == 0);
  const std::size_t n_rows = x.size() / dims;
  LATTICE_CHECK(out.size() == PanelElements(n_rows, dims));
  for (std::size_t first = 0; first < n_rows; first += kPanelColumns) {
    float* panel = out.data() + first * dims;
    const std::size_t n = std::min(kPanelColumns, n_rows - first);
    if (n < kPanelColumns) std::fill_n(panel, kPanelColumns * dims, 0.0f);
    for (std::size_t j = 0; j < n; ++j) {
      const float* row = x.data() + (first + j) * dims;
      for (std::size_t t = 0; t < dims; ++t) panel[t * kPanelColumns + j] = row[t];
    }
  }
}

}  // namespace lattice::vectors
