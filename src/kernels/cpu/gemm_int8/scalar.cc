#include <cmath>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {
constexpr std::size_t kGroup = 4;
}

void GemmInt8Scalar(const GemmInt8Args& a) {
  for (std::size_t j = 0; j < a.n; ++j) {
    const std::int8_t* w =
        a.w + j / kInt8PanelOutputs * a.k * kInt8PanelOutputs + j % kInt8PanelOutputs * kGroup;
    for (std::size_t i = 0; i < a.m; ++i) {
      const std::uint8_t* x = a.x + i * a.k;
      std::int32_t sum = 0;
      for (std::size_t t = 0; t < a.k; ++t) {
        sum += x[t] * w[t / kGroup * kGroup * kInt8PanelOutputs + t % kGroup];
      }
      sum -= a.x_zero[i] * a.w_sum[j];
      float y = std::fmaf(static_cast<float>(sum), a.x_scale[i] * a.w_scale[j], a.bias[j]);
      if (a.residual != nullptr) y += a.residual[i * a.residual_stride + j];
      a.y[i * a.y_stride + j] = y;
    }
  }
}

}  // namespace lattice::kernels
