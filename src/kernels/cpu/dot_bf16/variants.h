#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Rows of x are padded with zeros to a multiple of this.
inline constexpr std::size_t kDotBf16InputGrain = 32;

/// See dot_f32.
inline constexpr std::size_t kDotBf16RowsAhead = 4;

/// Rows that tiles want side by side.
inline constexpr std::size_t kDotBf16Group = 16;

/// y[i * y_stride + j] = sum over t of x[x_row + i][t] * w[j][t], i < m, j < n; see dot_bf16.h.
struct DotBf16Args {
  /// 64-byte aligned. Row r is at x + r * x_stride; or, for variants of grouped rows, its inputs
  /// 2 p and 2 p + 1 are at x + (r - r % 16) * x_stride + 32 p + 2 (r % 16).
  const std::uint16_t* x = nullptr;
  std::size_t x_row = 0;
  std::size_t x_stride = 0;  ///< a multiple of the grain, at least k; inputs from k on are zeros
  std::size_t m = 0;
  /// n pointers to rows of k weights, at any alignment, and kDotBf16RowsAhead more: what the
  /// caller reads next, perhaps.
  const std::byte* const* w = nullptr;
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotBf16Fn = void (*)(const DotBf16Args& args);

void DotBf16Amx(const DotBf16Args& args);
void DotBf16Avx512Bf16(const DotBf16Args& args);
void DotBf16NeonBf16(const DotBf16Args& args);

}  // namespace lattice::kernels
