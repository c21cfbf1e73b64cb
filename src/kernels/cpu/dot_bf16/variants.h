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

/// Outputs whose weights are laid out together for many rows of x.
inline constexpr std::size_t kDotBf16LaneOutputs = 32;

/// Lane l of a row are the inputs 32 s + 2 l and 32 s + 2 l + 1 for all s. A row in lane order has
/// its lanes one behind the other, in the order in which their sums are added; each has
/// DotBf16LaneSteps(k) pairs, zeros where inputs do not exist.
inline constexpr std::size_t kDotBf16Lanes = 16;
[[gnu::always_inline]] constexpr std::size_t DotBf16LaneSteps(std::size_t k) {
  return (k + 31) / 32;
}
/// The lane's place: the bits of l in reverse.
[[gnu::always_inline]] constexpr std::size_t DotBf16LaneRank(std::size_t l) {
  return (l & 1) << 3 | (l & 2) << 1 | (l & 4) >> 1 | (l & 8) >> 3;
}

/// As DotBf16Args, for weights that were laid out anew.
struct DotBf16ManyArgs {
  const std::uint16_t* x = nullptr;  ///< Row r at x + r * x_stride, or as for few rows.
  std::size_t x_row = 0;
  std::size_t x_stride = 0;
  std::size_t m = 0;
  const std::uint16_t* w = nullptr;
  std::size_t n = 0;  ///< at most kDotBf16LaneOutputs
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};

/// The same sums for many rows of x, which read weights from the caches less often.
struct DotBf16ManyFns {
  std::size_t least_rows;  ///< From which it pays to lay weights out.
  bool x_in_lanes;         ///< Rows of x lie in lane order; else as for few rows.
  /// n rows of k weights -> DotBf16PackedBytes(k), 64-byte aligned, in the variant's own order.
  void (*pack)(const std::byte* const* rows, std::size_t n, std::size_t k, std::uint16_t* out);
  void (*run)(const DotBf16ManyArgs& args);
};

/// Of kDotBf16LaneOutputs rows of k weights, and what keeps lanes from meeting in the same sets of
/// a cache.
[[gnu::always_inline]] constexpr std::size_t DotBf16PackedBytes(std::size_t k) {
  return kDotBf16Lanes * (DotBf16LaneSteps(k) + 1) * kDotBf16LaneOutputs * 2 *
         sizeof(std::uint16_t);
}

extern const DotBf16ManyFns kDotBf16ManyAmx, kDotBf16ManyAvx512;

void DotBf16Amx(const DotBf16Args& args);
void DotBf16Avx512Bf16(const DotBf16Args& args);
void DotBf16NeonBf16(const DotBf16Args& args);

}  // namespace lattice::kernels
