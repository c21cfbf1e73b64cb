#include <cmath>

#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {

void GemmF32Scalar(const GemmF32Args& a) {
  for (std::size_t j = 0; j < a.n; ++j) {
    const float* w = a.w + j / kF32PanelOutputs * a.k * kF32PanelOutputs + j % kF32PanelOutputs;
    for (std::size_t i = 0; i < a.m; ++i) {
      const float* x = a.x + i * a.x_stride;
      float total = 0;
      for (std::size_t block = 0; block < a.k; block += kF32BlockInputs) {
        const std::size_t end = a.k - block < kF32BlockInputs ? a.k : block + kF32BlockInputs;
        float chain = 0;
        for (std::size_t t = block; t < end; ++t) {
          chain = std::fmaf(x[t], w[t * kF32PanelOutputs], chain);
        }
        total = block == 0 ? chain : total + chain;
      }
      total += a.bias[j];
      if (a.residual != nullptr) total += a.residual[i * a.residual_stride + j];
      a.y[i * a.y_stride + j] = total;
    }
  }
}

}  // namespace lattice::kernels
