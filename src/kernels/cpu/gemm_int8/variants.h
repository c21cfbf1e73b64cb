#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Outputs of one panel of packed weights.
inline constexpr std::size_t kInt8PanelOutputs = 32;

/// Inputs are padded with zeros to a multiple of this.
inline constexpr std::size_t kInt8InputGrain = 64;

/// Inputs that share a scale, of activations and of weights; the last block may hold 64.
inline constexpr std::size_t kInt8BlockInputs = 128;

constexpr std::size_t Int8Blocks(std::size_t k) {
  return (k + kInt8BlockInputs - 1) / kInt8BlockInputs;
}

/// Arguments of the int8 kernels; see gemm_int8.h.
struct GemmInt8Args {
  const std::uint8_t* x;  ///< [m, k], rows k apart, 64-byte aligned.
  const float* x_scale;   ///< [m, Int8Blocks(k)]
  const float* x_zero;    ///< [m, Int8Blocks(k)] whole numbers, 0..255
  std::size_t m;
  std::size_t k;          ///< A multiple of 64.
  const std::int8_t* w;   ///< [ceil(n / 32)] panels of k * 32, 64-byte aligned.
  const float* w_sum;     ///< [ceil(n / 32), Int8Blocks(k), 32] sum of each output's weights.
  const float* w_scale;   ///< [ceil(n / 32), Int8Blocks(k), 32]
  const float* bias;      ///< [ceil(n / 32) * 32]
  const float* residual;  ///< [m, n], rows residual_stride apart, or null; may be y.
  std::size_t residual_stride;
  float* y;  ///< [m, n], rows y_stride apart.
  std::size_t y_stride;
  std::size_t n;
};

using GemmInt8Fn = void (*)(const GemmInt8Args&);

void GemmInt8Scalar(const GemmInt8Args& args);
void GemmInt8Avx2(const GemmInt8Args& args);
void GemmInt8AvxVnni(const GemmInt8Args& args);
void GemmInt8Amx(const GemmInt8Args& args);
void GemmInt8Avx512Vnni(const GemmInt8Args& args);
void GemmInt8Neon(const GemmInt8Args& args);
void GemmInt8NeonDotprod(const GemmInt8Args& args);
void GemmInt8NeonI8mm(const GemmInt8Args& args);

}  // namespace lattice::kernels
