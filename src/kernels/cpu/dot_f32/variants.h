#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// How a row of weights lies in memory, at any alignment.
enum class FloatRow : std::uint8_t { kF32, kBf16, kF16 };

/// y[i * y_stride + j] = sum over t of x[i * x_stride + t] * w[j][t]; see dot_f32.h.
struct DotF32Args {
  const float* x = nullptr;  ///< m rows of k
  std::size_t x_stride = 0;
  std::size_t m = 0;
  const std::byte* const* w = nullptr;  ///< n pointers to rows of k weights
  FloatRow kind = FloatRow::kF32;
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotF32Fn = void (*)(const DotF32Args& args);

void DotF32Scalar(const DotF32Args& args);
void DotF32Avx2(const DotF32Args& args);
void DotF32Avx512(const DotF32Args& args);
void DotF32Neon(const DotF32Args& args);

}  // namespace lattice::kernels
