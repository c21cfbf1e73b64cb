#include <arm_neon.h>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Bf16 numbers are the high halves of f32 ones: they are widened in registers and multiplied as
// f32. Eight rows by two registers of outputs: 16 sums, 8 inputs, four weights.
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kLanes = 4;
constexpr std::size_t kStrip = 2 * kLanes;  // A quarter of a panel.
constexpr std::size_t kGroup = 2;

// Of four pairs, the first and the second numbers.
float32x4_t First(uint32x4_t pairs) { return vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16)); }
float32x4_t Second(uint32x4_t pairs) {
  return vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xFFFF0000u)));
}

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint16_t* x, std::size_t k,
                                       const std::uint16_t* w, float32x4_t (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = vdupq_n_f32(0);
  for (std::size_t t = 0; t < k; t += kGroup) {
    const std::uint16_t* step = w + t * kBf16PanelOutputs;
    const uint32x4_t w0 = vreinterpretq_u32_u16(vld1q_u16(step));
    const uint32x4_t w1 = vreinterpretq_u32_u16(vld1q_u16(step + 8));
    const float32x4_t first[2] = {First(w0), First(w1)}, second[2] = {Second(w0), Second(w1)};
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      std::uint32_t two;
      __builtin_memcpy(&two, x + static_cast<std::size_t>(r) * k + t, sizeof(two));
      const float32x4_t a = First(vdupq_n_u32(two)), b = Second(vdupq_n_u32(two));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; ++v) {
        sum[r][v] = vfmaq_f32(vfmaq_f32(sum[r][v], a, first[v]), b, second[v]);
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
  float32x4_t sum[kRows][2];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
  float total[kStrip];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    vst1q_f32(total, sum[r][0]);
    vst1q_f32(total + kLanes, sum[r][1]);
    FinishRow(a, row + static_cast<std::size_t>(r), col, total);
  }
}

using TileFn = void (*)(const GemmBf16Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>, Tile<6>, Tile<7>, Tile<8>};

}  // namespace

void GemmBf16Neon(const GemmBf16Args& a) {
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
