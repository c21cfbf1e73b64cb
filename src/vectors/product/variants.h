#pragma once

#include <cstddef>

namespace lattice::vectors {

/// c[i][j] (+)= sum over t of a[i][t] b[t][j]; product.h has the contract.
struct ProductArgs {
  const float* a;  ///< [m, k]; element (i, t) at a[i * a_row_stride + t * a_col_stride].
  std::size_t a_row_stride, a_col_stride;
  const float* b;  ///< [k, n]; element (t, j) at b[t * b_stride + j].
  std::size_t b_stride;
  float* c;  ///< [m, n]; aliases neither input.
  std::size_t c_stride;
  std::size_t m, n, k;
  bool accumulate = false;  ///< Start from c instead of zero.
};

using ProductFn = void (*)(const ProductArgs& args);

void ProductScalar(const ProductArgs& args);
void ProductAvx2(const ProductArgs& args);
void ProductAvx512(const ProductArgs& args);
void ProductNeon(const ProductArgs& args);

}  // namespace lattice::vectors
