#include <cmath>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kGroup = 2;

float Widen(std::uint16_t bf16) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bf16) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

void GemmBf16Scalar(const GemmBf16Args& a) {
  for (std::size_t j = 0; j < a.n; ++j) {
    const std::uint16_t* w =
        a.w + j / kBf16PanelOutputs * a.k * kBf16PanelOutputs + j % kBf16PanelOutputs * kGroup;
    for (std::size_t i = 0; i < a.m; ++i) {
      float sum = 0;
      for (std::size_t t = 0; t < a.k; ++t) {
        const std::uint16_t weight = w[t / kGroup * kGroup * kBf16PanelOutputs + t % kGroup];
        sum = std::fmaf(Widen(a.x[i * a.k + t]), Widen(weight), sum);
      }
      sum += a.bias[j];
      if (a.residual != nullptr) sum += a.residual[i * a.residual_stride + j];
      a.y[i * a.y_stride + j] = sum;
    }
  }
}

}  // namespace lattice::kernels
