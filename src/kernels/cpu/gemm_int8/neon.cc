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
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t x_stride, std::size_t k,
                                       const std::int8_t* w,
                                       int32x4_t (&sum)[kRows][2 * kVectors]) {
  for (auto& row : sum) {
    for (int32x4_t& s : row) s = vdupq_n_s32(0);
  }
  for (std::size_t t = 0; t < k; t += kGroup) {
    const std::int8_t* step = w + t * kInt8PanelOutputs;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const int8x8_t input = Input(x + static_cast<std::size_t>(r) * x_stride + t);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < 2 * kVectors; ++v) {
        sum[r][v] = vpadalq_s16(sum[r][v], vmull_s8(input, vld1_s8(step + 8 * v)));
      }
    }
  }
}

// Adds four sums of one row and block, scaled, to the totals.
void AddBlock(const GemmInt8Args& a, std::size_t x_at, std::size_t w_at, int32x4_t sum,
              float* total) {
  const float32x4_t exact = vfmsq_n_f32(vcvtq_f32_s32(sum), vld1q_f32(a.w_sum + w_at),
                                        a.x_zero[x_at] - static_cast<float>(kMove));
  const float32x4_t scale = vmulq_n_f32(vld1q_f32(a.w_scale + w_at), a.x_scale[x_at]);
  vst1q_f32(total, vfmaq_f32(vld1q_f32(total), exact, scale));
}

// Stores those of n outputs of one row that exist.
void Store(const GemmInt8Args& a, std::size_t row, std::size_t col, const float* total) {
  for (std::size_t j = 0; j < kStrip && col + j < a.n; ++j) {
    const float residual =
        a.residual == nullptr ? 0.0f : a.residual[row * a.residual_stride + col + j];
    a.y[row * a.y_stride + col + j] = a.residual == nullptr ? total[j] : total[j] + residual;
  }
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  const std::size_t n_blocks = Int8Blocks(a.k);
  float total[kRows][kStrip];
  for (auto& outputs : total) __builtin_memcpy(outputs, a.bias + col, sizeof(outputs));
  for (std::size_t b = 0; b < n_blocks; ++b) {
    const std::size_t begin = b * kInt8BlockInputs;
    const std::size_t size = a.k - begin < kInt8BlockInputs ? a.k - begin : kInt8BlockInputs;
    int32x4_t sum[kRows][2 * kVectors];
    Sum<kRows>(a.x + row * a.k + begin, a.k, size,
               a.w + (col - in_panel) * a.k + begin * kInt8PanelOutputs + in_panel * kGroup, sum);
    const std::size_t at = (col - in_panel) * n_blocks + b * kInt8PanelOutputs + in_panel;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const std::size_t x_at = (row + static_cast<std::size_t>(r)) * n_blocks + b;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        AddBlock(a, x_at, at + v * kLanes, vpaddq_s32(sum[r][2 * v], sum[r][2 * v + 1]),
                 total[r] + v * kLanes);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) Store(a, row + static_cast<std::size_t>(r), col, total[r]);
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
