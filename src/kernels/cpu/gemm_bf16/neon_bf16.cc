#include <arm_neon.h>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

// BFMMLA multiplies two rows of four inputs by two outputs of four weights. Four pairs of rows by
// eight outputs: 16 sums of two rows by two outputs, four registers of inputs, four of weights.
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kPairs = 4;
constexpr std::size_t kStrip = 2 * kPairs;  // A quarter of a panel.
constexpr std::size_t kGroup = 4;

// sum[q][v] holds rows 2 q and 2 q + 1 by outputs 2 v and 2 v + 1. A last odd row is taken twice.
template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint16_t* x, std::size_t k,
                                       const std::uint16_t* w,
                                       float32x4_t (&sum)[(kRows + 1) / 2][kPairs]) {
  for (auto& rows : sum) {
    for (float32x4_t& s : rows) s = vdupq_n_f32(0);
  }
  for (std::size_t t = 0; t < k; t += kGroup) {
    bfloat16x8_t weights[kPairs];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kPairs; ++v) {
      weights[v] = vreinterpretq_bf16_u16(vld1q_u16(w + t * kBf16PanelOutputs + 8 * v));
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; r += 2) {
      const std::uint16_t* first = x + static_cast<std::size_t>(r) * k + t;
      const std::uint16_t* second = r + 1 < kRows ? first + k : first;
      const bfloat16x8_t input =
          vreinterpretq_bf16_u16(vcombine_u16(vld1_u16(first), vld1_u16(second)));
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kPairs; ++v) {
        sum[r / 2][v] = vbfmmlaq_f32(sum[r / 2][v], input, weights[v]);
      }
    }
  }
}

// Adds what follows the products and stores the outputs that exist.
void FinishRow(const GemmBf16Args& a, std::size_t row, std::size_t col, const float* total) {
  const std::size_t n = a.n - col < kStrip ? a.n - col : kStrip;
  float* y = a.y + row * a.y_stride + col;
  for (std::size_t j = 0; j < n; ++j) {
    float sum = total[j] + a.bias[col + j];
    if (a.residual != nullptr) sum += a.residual[row * a.residual_stride + col + j];
    y[j] = sum;
  }
}

template <int kRows>
void Tile(const GemmBf16Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kBf16PanelOutputs;
  float32x4_t sum[(kRows + 1) / 2][kPairs];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
  float total[2][kStrip];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; r += 2) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kPairs; ++v) {
      vst1_f32(total[0] + 2 * v, vget_low_f32(sum[r / 2][v]));
      vst1_f32(total[1] + 2 * v, vget_high_f32(sum[r / 2][v]));
    }
    FinishRow(a, row + static_cast<std::size_t>(r), col, total[0]);
    if (r + 1 < kRows) FinishRow(a, row + static_cast<std::size_t>(r) + 1, col, total[1]);
  }
}

using TileFn = void (*)(const GemmBf16Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>, Tile<6>, Tile<7>, Tile<8>};

}  // namespace

void GemmBf16NeonBf16(const GemmBf16Args& a) {
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
