#pragma once

#include <cstddef>
#include <span>

#include "base/cpu_features.h"
#include "vectors/product/variants.h"

namespace lattice::vectors {

/// Products of f32 matrices, on one thread. The left matrix may have any strides, so that its
/// transpose is a matter of two numbers; the right one has rows without gaps inside.
///
/// Order   c[i][j] starts at zero (or at itself: accumulate) and takes a[i][t] * b[t][j] by fused
///         multiply-adds, t rising. All rows of the table and any cut into pieces of rows and
///         columns give the same bits.
/// Errors  none: preconditions only.
struct ProductVariant {
  const char* name;
  CpuFeatures needs;
  ProductFn run;
};

/// Fastest first; the last row runs anywhere.
std::span<const ProductVariant> ProductVariants();
ProductFn SelectProduct(CpuFeatures cpu);

/// Columns of a panel.
inline constexpr std::size_t kPanelColumns = 32;

/// The rows of a matrix as right factors: panel p holds rows [32 p, 32 p + 32) of x [n_rows, dims]
/// transposed, element (t, j) at out[p * dims * 32 + t * 32 + j]; columns past n_rows are zero.
/// out has PanelElements(n_rows, dims) elements. With a = some rows, c is their inner products.
void PackPanels(std::span<const float> x, std::size_t dims, std::span<float> out);
std::size_t PanelElements(std::size_t n_rows, std::size_t dims);

}  // namespace lattice::vectors
