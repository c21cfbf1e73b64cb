#include <arm_neon.h>

#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {
namespace {

// Eight rows by two registers of outputs: 16 sums, 8 registers of four inputs each, two weights
// of 32.
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kStrip = 2 * kLanes;  // A quarter of a panel.

template <int kLane, int kRows>
[[gnu::always_inline]] inline void Step(const float32x4_t (&input)[kRows], const float* w,
                                        float32x4_t (&sum)[kRows][2]) {
  const float32x4_t w0 = vld1q_f32(w), w1 = vld1q_f32(w + kLanes);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    sum[r][0] = vfmaq_laneq_f32(sum[r][0], w0, input[r], kLane);
    sum[r][1] = vfmaq_laneq_f32(sum[r][1], w1, input[r], kLane);
  }
}

template <int kRows>
[[gnu::always_inline]] inline void Chain(const float* x, std::size_t x_stride, const float* w,
                                         std::size_t k, float32x4_t (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = vdupq_n_f32(0);
  float32x4_t input[kRows];
  std::size_t t = 0;
  for (; t + 4 <= k; t += 4) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      input[r] = vld1q_f32(x + static_cast<std::size_t>(r) * x_stride + t);
    Step<0>(input, w + (t + 0) * kF32PanelOutputs, sum);
    Step<1>(input, w + (t + 1) * kF32PanelOutputs, sum);
    Step<2>(input, w + (t + 2) * kF32PanelOutputs, sum);
    Step<3>(input, w + (t + 3) * kF32PanelOutputs, sum);
  }
  for (; t < k; ++t) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
      input[r] = vdupq_n_f32(x[static_cast<std::size_t>(r) * x_stride + t]);
    Step<0>(input, w + t * kF32PanelOutputs, sum);
  }
}

// Adds what follows the blocks and stores the outputs that exist.
void FinishRow(const GemmF32Args& a, std::size_t row, std::size_t col, const float* total) {
  const std::size_t n = a.n - col < kStrip ? a.n - col : kStrip;
  float* y = a.y + row * a.y_stride + col;
  for (std::size_t j = 0; j < n; ++j) {
    float sum = total[j] + a.bias[col + j];
    if (a.residual != nullptr) sum += a.residual[row * a.residual_stride + col + j];
    y[j] = sum;
  }
}

template <int kRows>
void Tile(const GemmF32Args& a, std::size_t row, std::size_t col) {
  alignas(16) float total[kRows][kStrip];
  const float* x = a.x + row * a.x_stride;
  const float* w = a.w + col / kF32PanelOutputs * a.k * kF32PanelOutputs + col % kF32PanelOutputs;
  for (std::size_t begin = 0; begin < a.k; begin += kF32BlockInputs) {
    const std::size_t size = a.k - begin < kF32BlockInputs ? a.k - begin : kF32BlockInputs;
    float32x4_t sum[kRows][2];
    Chain<kRows>(x + begin, a.x_stride, w + begin * kF32PanelOutputs, size, sum);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; ++v) {
        float* partial = &total[r][v * kLanes];
        if (begin != 0) sum[r][v] = vaddq_f32(vld1q_f32(partial), sum[r][v]);
        vst1q_f32(partial, sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) FinishRow(a, row + static_cast<std::size_t>(r), col, total[r]);
}

using TileFn = void (*)(const GemmF32Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>, Tile<6>, Tile<7>, Tile<8>};

}  // namespace

void GemmF32Neon(const GemmF32Args& a) {
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
