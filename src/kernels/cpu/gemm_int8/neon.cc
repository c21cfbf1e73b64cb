#include <arm_neon.h>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// Bytes are multiplied as signed 16-bit numbers, inputs and their zero moved by 128; each product
// is added to its neighbour in 32 bits. Four rows by eight outputs.
constexpr std::size_t kMaxRows = 4;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kVectors = 2;
constexpr std::size_t kStrip = kVectors * kLanes;  // A quarter of a panel.
constexpr std::size_t kGroup = 4;
constexpr std::int32_t kMove = 128;

// Four inputs of a row, twice over, as 8 signed bytes.
int8x8_t Input(const std::uint8_t* x) {
  std::uint32_t four;
  __builtin_memcpy(&four, x, sizeof(four));
  return vreinterpret_s8_u8(veor_u8(vreinterpret_u8_u32(vdup_n_u32(four)), vdup_n_u8(kMove)));
}

// sum[r][v] holds pairs of partial sums of the outputs 2 v and 2 v + 1.
template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t k, const std::int8_t* w,
                                       int32x4_t (&sum)[kRows][2 * kVectors]) {
  for (auto& row : sum) {
    for (int32x4_t& s : row) s = vdupq_n_s32(0);
  }
  for (std::size_t t = 0; t < k; t += kGroup) {
    const std::int8_t* step = w + t * kInt8PanelOutputs;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const int8x8_t input = Input(x + static_cast<std::size_t>(r) * k + t);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < 2 * kVectors; ++v) {
        sum[r][v] = vpadalq_s16(sum[r][v], vmull_s8(input, vld1_s8(step + 8 * v)));
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
  int32x4_t sum[kRows][2 * kVectors];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      Finish(a, row + static_cast<std::size_t>(r), col + v * kLanes,
             vpaddq_s32(sum[r][2 * v], sum[r][2 * v + 1]));
    }
  }
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>};

}  // namespace

void GemmInt8Neon(const GemmInt8Args& a) {
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
