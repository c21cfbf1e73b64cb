#pragma once

#include <cstddef>

namespace lattice::kernels {

/// Normalisation of rows of n contiguous floats: see Backend for the formulas. `out` may be any of
/// the inputs, row for row. n >= 1.
struct NormKernels {
  /// residual and bias may be null.
  void (*layer_norm)(const float* x, const float* residual, const float* gain, const float* bias,
                     float eps, std::size_t n_rows, std::size_t n, float* out);
  /// out = [add +] x / rms(x) * gain; add may be null. Rows of x and out lie `stride` apart, those
  /// of add too.
  void (*rms_norm)(const float* x, const float* add, const float* gain, float eps,
                   std::size_t n_rows, std::size_t n, std::size_t stride, float* out);
};

extern const NormKernels kNormScalar;
extern const NormKernels kNormAvx2;
extern const NormKernels kNormAvx512;
extern const NormKernels kNormNeon;

}  // namespace lattice::kernels
