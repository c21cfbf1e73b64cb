#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {

/// Outputs of one panel of packed weights.
inline constexpr std::size_t kInt8PanelOutputs = 32;

/// Inputs are padded with zeros to a multiple of this.
inline constexpr std::size_t kInt8InputGrain = 64;

/// Arguments of the int8 kernels; see gemm_int8.h.
struct GemmInt8Args {
  const std::uint8_t* x;  ///< [m, k] in the variant's form (Int8InputForm), 64-byte aligned.
  const Int8Row* x_row;   ///< [m]
  std::size_t m;
  std::size_t k;              ///< A multiple of 64.
  const std::int8_t* w;       ///< [ceil(n / 32)] panels of k * 32, 64-byte aligned.
  const std::int32_t* w_sum;  ///< [ceil(n / 32) * 32] sum of each output's weights.
  const float* w_scale;       ///< [ceil(n / 32) * 32]
  const float* bias;          ///< [ceil(n / 32) * 32]
  const float* residual;      ///< [m, n], rows residual_stride apart, or null; may be y.
  std::size_t residual_stride;
  float* y;  ///< [m, n], rows y_stride apart.
  std::size_t y_stride;
  std::size_t n;
};

using GemmInt8Fn = void (*)(const GemmInt8Args&);

/// How a kernel reads the bytes of a quantised row.
struct Int8InputForm {
  std::size_t bytes = 1;  ///< Of each input; rows are bytes * k apart.
  /// Turns k bytes in the place of a row into that form; null where it reads them as they are.
  void (*prepare)(std::uint8_t* row, std::size_t k) = nullptr;
};

void GemmInt8Scalar(const GemmInt8Args& args);
void GemmInt8Avx2(const GemmInt8Args& args);
/// Four bytes as 16-bit numbers, the first and the third before the second and the fourth.
void WidenInt8InputsAvx2(std::uint8_t* row, std::size_t k);
void GemmInt8AvxVnni(const GemmInt8Args& args);
void GemmInt8Amx(const GemmInt8Args& args);
void GemmInt8Avx512Vnni(const GemmInt8Args& args);
void GemmInt8Neon(const GemmInt8Args& args);
void GemmInt8NeonDotprod(const GemmInt8Args& args);
void GemmInt8NeonI8mm(const GemmInt8Args& args);

}  // namespace lattice::kernels
