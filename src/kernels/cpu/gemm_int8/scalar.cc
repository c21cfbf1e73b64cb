#include <cmath>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {
constexpr std::size_t kGroup = 4;
}

void GemmInt8Scalar(const GemmInt8Args& a) {
  const std::size_t n_blocks = Int8Blocks(a.k);
  for (std::size_t j = 0; j < a.n; ++j) {
    const std::size_t panel = j / kInt8PanelOutputs, in_panel = j % kInt8PanelOutputs;
    const std::int8_t* w = a.w + panel * a.k * kInt8PanelOutputs + in_panel * kGroup;
    for (std::size_t i = 0; i < a.m; ++i) {
      const std::uint8_t* x = a.x + i * a.k;
      float y = a.bias[j];
      for (std::size_t b = 0; b < n_blocks; ++b) {
        std::int32_t sum = 0;
        for (std::size_t t = b * kInt8BlockInputs; t < a.k && t < (b + 1) * kInt8BlockInputs; ++t) {
          sum += x[t] * w[t / kGroup * kGroup * kInt8PanelOutputs + t % kGroup];
        }
        const std::size_t x_at = i * n_blocks + b;
        const std::size_t w_at = (panel * n_blocks + b) * kInt8PanelOutputs + in_panel;
        const float exact = static_cast<float>(sum) - a.x_zero[x_at] * a.w_sum[w_at];
        y = std::fmaf(exact, a.x_scale[x_at] * a.w_scale[w_at], y);
      }
      if (a.residual != nullptr) y += a.residual[i * a.residual_stride + j];
      a.y[i * a.y_stride + j] = y;
    }
  }
}

}  // namespace lattice::kernels
