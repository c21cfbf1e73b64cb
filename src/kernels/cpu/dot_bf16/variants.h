#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Rows of x are padded with zeros to a multiple of this.
inline constexpr std::size_t kDotBf16InputGrain = 32;

/// y[i * y_stride + j] = sum over t of x[i * x_stride + t] * w[j][t]; see dot_bf16.h.
struct DotBf16Args {
  const std::uint16_t* x = nullptr;  ///< m rows of k, 64-byte aligned
  std::size_t x_stride = 0;          ///< a multiple of the grain, at least k
  std::size_t m = 0;
  const std::byte* const* w = nullptr;  ///< n pointers to rows of k weights, at any alignment
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotBf16Fn = void (*)(const DotBf16Args& args);

void DotBf16Avx512Bf16(const DotBf16Args& args);

}  // namespace lattice::kernels
