#include <arm_neon.h>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// USMMLA multiplies two rows of eight inputs by two outputs of eight weights. Four pairs of rows by
// eight outputs: 16 sums of two rows by two outputs, four registers of inputs, four of weights.
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kPairs = 4;
constexpr std::size_t kStrip = 2 * kPairs;  // A quarter of a panel.
constexpr std::size_t kGroup = 8;

// sum[q][v] holds rows 2 q and 2 q + 1 by outputs 2 v and 2 v + 1. A last odd row is taken twice.
template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t k, const std::int8_t* w,
                                       int32x4_t (&sum)[(kRows + 1) / 2][kPairs]) {
  for (auto& rows : sum) {
    for (int32x4_t& s : rows) s = vdupq_n_s32(0);
  }
  for (std::size_t t = 0; t < k; t += kGroup) {
    int8x16_t weights[kPairs];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kPairs; ++v)
      weights[v] = vld1q_s8(w + t * kInt8PanelOutputs + 16 * v);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r += 2) {
      const std::uint8_t* first = x + static_cast<std::size_t>(r) * k + t;
      const std::uint8_t* second = r + 1 < kRows ? first + k : first;
      const uint8x16_t input = vcombine_u8(vld1_u8(first), vld1_u8(second));
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kPairs; ++v) {
        sum[r / 2][v] = vusmmlaq_s32(sum[r / 2][v], input, weights[v]);
      }
    }
  }
}

// The weights of input t for four outputs from `col`.
float32x4_t WeightsOf(const GemmInt8Args& a, std::size_t t, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  const std::int8_t* w = a.w + (col - in_panel) * a.k + t / kGroup * kGroup * kInt8PanelOutputs;
  std::int32_t weights[kLanes];
  for (std::size_t j = 0; j < kLanes; ++j) weights[j] = w[(in_panel + j) * kGroup + t % kGroup];
  return vcvtq_f32_s32(vld1q_s32(weights));
}

// Scales four sums of one row and stores the outputs that exist.
void Finish(const GemmInt8Args& a, std::size_t row, std::size_t col, int32x4_t sum) {
  if (col >= a.n) return;
  const Int8Row& x = a.x_row[row];
  const float32x4_t w_scale = vld1q_f32(a.w_scale + col);
  sum = vmlsq_n_s32(sum, vld1q_s32(a.w_sum + col), x.zero);
  float32x4_t total =
      vfmaq_f32(vld1q_f32(a.bias + col), vcvtq_f32_s32(sum), vmulq_n_f32(w_scale, x.scale));
  total = vfmaq_f32(total, WeightsOf(a, x.outlier_at, col), vmulq_n_f32(w_scale, x.outlier));
  float y[kLanes];
  vst1q_f32(y, total);
  const std::size_t n = a.n - col < kLanes ? a.n - col : kLanes;
  for (std::size_t j = 0; j < n; ++j) {
    if (a.residual != nullptr) y[j] += a.residual[row * a.residual_stride + col + j];
    a.y[row * a.y_stride + col + j] = y[j];
  }
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  int32x4_t sum[(kRows + 1) / 2][kPairs];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; r += 2) {
    const std::size_t i = row + static_cast<std::size_t>(r);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kPairs; v += 2) {
      const int64x2_t left = vreinterpretq_s64_s32(sum[r / 2][v]);
      const int64x2_t right = vreinterpretq_s64_s32(sum[r / 2][v + 1]);
      Finish(a, i, col + 2 * v, vreinterpretq_s32_s64(vzip1q_s64(left, right)));
      if (r + 1 < kRows) {
        Finish(a, i + 1, col + 2 * v, vreinterpretq_s32_s64(vzip2q_s64(left, right)));
      }
    }
  }
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>, Tile<6>, Tile<7>, Tile<8>};

}  // namespace

void GemmInt8NeonI8mm(const GemmInt8Args& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  for (std::size_t col = 0; col < a.n; col += kStrip) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      kTiles[end - begin](a, begin, col);
    }
  }
}

}  // namespace lattice::kernels
