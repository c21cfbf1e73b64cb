#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Outputs of one panel of packed weights.
inline constexpr std::size_t kF32PanelOutputs = 32;

/// Inputs whose products make one chain of additions.
inline constexpr std::size_t kF32BlockInputs = 256;

/// Arguments of the f32 kernels; see gemm_f32.h.
struct GemmF32Args {
  const float* x;  ///< [m, k], rows x_stride apart.
  std::size_t x_stride;
  std::size_t m;
  std::size_t k;
  const float* w;         ///< [ceil(n / 32)][k][32], 64-byte aligned.
  const float* bias;      ///< [ceil(n / 32) * 32]
  const float* residual;  ///< [m, n], rows residual_stride apart, or null; may be y.
  std::size_t residual_stride;
  float* y;  ///< [m, n], rows y_stride apart.
  std::size_t y_stride;
  std::size_t n;
};

using GemmF32Fn = void (*)(const GemmF32Args&);

void GemmF32Scalar(const GemmF32Args& args);
void GemmF32Avx2(const GemmF32Args& args);
void GemmF32Avx512(const GemmF32Args& args);
void GemmF32Neon(const GemmF32Args& args);

}  // namespace lattice::kernels
