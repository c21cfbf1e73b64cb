#include <arm_neon.h>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// SDOT multiplies signed bytes: inputs are moved by 128, and so is their zero. Four rows by sixteen
// outputs: 16 sums, four registers of sixteen inputs, four weights.
constexpr std::size_t kMaxRows = 4;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kVectors = 4;
constexpr std::size_t kStrip = kVectors * kLanes;  // Half a panel.
constexpr std::size_t kGroup = 4;
constexpr std::int32_t kMove = 128;

template <int kLane, int kRows>
[[gnu::always_inline]] inline void Step(const int8x16_t (&input)[kRows], const std::int8_t* w,
                                        int32x4_t (&sum)[kRows][kVectors]) {
  int8x16_t weights[kVectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kVectors; ++v) weights[v] = vld1q_s8(w + 16 * v);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[r][v] = vdotq_laneq_s32(sum[r][v], weights[v], input[r], kLane);
    }
  }
}

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t k, const std::int8_t* w,
                                       int32x4_t (&sum)[kRows][kVectors]) {
  for (auto& row : sum) {
    for (int32x4_t& s : row) s = vdupq_n_s32(0);
  }
  const uint8x16_t move = vdupq_n_u8(kMove);
  constexpr std::size_t kStepBytes = kGroup * kInt8PanelOutputs;
  for (std::size_t t = 0; t < k; t += 16, w += 4 * kStepBytes) {
    int8x16_t input[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const uint8x16_t bytes = vld1q_u8(x + static_cast<std::size_t>(r) * k + t);
      input[r] = vreinterpretq_s8_u8(veorq_u8(bytes, move));
    }
    Step<0>(input, w, sum);
    Step<1>(input, w + kStepBytes, sum);
    Step<2>(input, w + 2 * kStepBytes, sum);
    Step<3>(input, w + 3 * kStepBytes, sum);
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
  sum = vmlsq_n_s32(sum, vld1q_s32(a.w_sum + col), x.zero - kMove);
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
  int32x4_t sum[kRows][kVectors];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      Finish(a, row + static_cast<std::size_t>(r), col + v * kLanes, sum[r][v]);
    }
  }
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>};

}  // namespace

void GemmInt8NeonDotprod(const GemmInt8Args& a) {
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
