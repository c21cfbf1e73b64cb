#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Outputs of one panel of packed weights.
inline constexpr std::size_t kBf16PanelOutputs = 32;

/// Inputs are padded with zeros to a multiple of this.
inline constexpr std::size_t kBf16InputGrain = 32;

/// Arguments of the bf16 kernels; see gemm_bf16.h.
struct GemmBf16Args {
  const std::uint16_t* x;  ///< [m, k], rows k apart, 64-byte aligned.
  std::size_t m;
  std::size_t k;           ///< A multiple of 32.
  const std::uint16_t* w;  ///< [ceil(n / 32)] panels of k * 32, 64-byte aligned.
  const float* bias;       ///< [ceil(n / 32) * 32]
  const float* residual;   ///< [m, n], rows residual_stride apart, or null; may be y.
  std::size_t residual_stride;
  float* y;  ///< [m, n], rows y_stride apart.
  std::size_t y_stride;
  std::size_t n;
};

using GemmBf16Fn = void (*)(const GemmBf16Args&);

void GemmBf16Scalar(const GemmBf16Args& args);
void GemmBf16Avx2(const GemmBf16Args& args);
void GemmBf16Avx512(const GemmBf16Args& args);
void GemmBf16Amx(const GemmBf16Args& args);
void GemmBf16Avx512Bf16(const GemmBf16Args& args);
void GemmBf16Neon(const GemmBf16Args& args);
void GemmBf16NeonBf16(const GemmBf16Args& args);

}  // namespace lattice::kernels
