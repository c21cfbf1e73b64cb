#include <cmath>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kGroup = 4;

// Where the weight of input t lies, from that of input 0.
std::size_t Place(std::size_t t) { return t / kGroup * kGroup * kInt8PanelOutputs + t % kGroup; }

}  // namespace

void GemmInt8Scalar(const GemmInt8Args& a) {
  for (std::size_t j = 0; j < a.n; ++j) {
    const std::int8_t* w =
        a.w + j / kInt8PanelOutputs * a.k * kInt8PanelOutputs + j % kInt8PanelOutputs * kGroup;
    for (std::size_t i = 0; i < a.m; ++i) {
      const std::uint8_t* x = a.x + i * a.k;
      std::int32_t sum = 0;
      for (std::size_t t = 0; t < a.k; ++t) {
        sum += x[t] * w[Place(t)];
      }
      const Int8Row& row = a.x_row[i];
      sum -= row.zero * a.w_sum[j];
      float y = std::fmaf(static_cast<float>(sum), row.scale * a.w_scale[j], a.bias[j]);
      y = std::fmaf(w[Place(row.outlier_at)], row.outlier * a.w_scale[j], y);
      if (a.residual != nullptr) y += a.residual[i * a.residual_stride + j];
      a.y[i * a.y_stride + j] = y;
    }
  }
}

}  // namespace lattice::kernels
