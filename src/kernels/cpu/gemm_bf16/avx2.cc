#include <immintrin.h>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Bf16 numbers are the high halves of f32 ones: they are widened in registers and multiplied as
// f32. Four rows by two registers of outputs: eight sums, four weights, two inputs, a mask.
constexpr std::size_t kMaxRows = 4;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kStrip = 2 * kLanes;  // Half a panel.
constexpr std::size_t kGroup = 2;

__m256i HighHalf() { return _mm256_set1_epi32(static_cast<int>(0xFFFF0000u)); }

// Of eight pairs, the first and the second numbers.
__m256 First(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
__m256 Second(__m256i pairs) { return _mm256_castsi256_ps(_mm256_and_si256(pairs, HighHalf())); }

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint16_t* x, std::size_t k,
                                       const std::uint16_t* w, __m256 (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_ps();
  for (std::size_t t = 0; t < k; t += kGroup) {
    const auto* step = reinterpret_cast<const __m256i*>(w + t * kBf16PanelOutputs);
    const __m256i w0 = _mm256_load_si256(step), w1 = _mm256_load_si256(step + 1);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      std::int32_t two;
      __builtin_memcpy(&two, x + static_cast<std::size_t>(r) * k + t, sizeof(two));
      const __m256i input = _mm256_set1_epi32(two);
      const __m256 a = First(input), b = Second(input);
      sum[r][0] = _mm256_fmadd_ps(b, Second(w0), _mm256_fmadd_ps(a, First(w0), sum[r][0]));
      sum[r][1] = _mm256_fmadd_ps(b, Second(w1), _mm256_fmadd_ps(a, First(w1), sum[r][1]));
    }
  }
}

// Adds what follows the products and stores the outputs that exist.
void FinishRow(const GemmBf16Args& a, std::size_t row, std::size_t col, float* total) {
  const std::size_t n = a.n - col < kStrip ? a.n - col : kStrip;
  float* y = a.y + row * a.y_stride + col;
  const float* residual =
      a.residual == nullptr ? nullptr : a.residual + row * a.residual_stride + col;
  for (std::size_t v = 0; v < kStrip; v += kLanes) {
    __m256 sum = _mm256_add_ps(_mm256_load_ps(total + v), _mm256_loadu_ps(a.bias + col + v));
    if (n < kStrip) {
      _mm256_store_ps(total + v, sum);
      continue;
    }
    if (residual != nullptr) sum = _mm256_add_ps(sum, _mm256_loadu_ps(residual + v));
    _mm256_storeu_ps(y + v, sum);
  }
  if (n == kStrip) return;
  for (std::size_t j = 0; j < n; ++j)
    y[j] = residual == nullptr ? total[j] : total[j] + residual[j];
}

template <int kRows>
void Tile(const GemmBf16Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kBf16PanelOutputs;
  __m256 sum[kRows][2];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
  alignas(32) float total[kRows][kStrip];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    _mm256_store_ps(total[r], sum[r][0]);
    _mm256_store_ps(total[r] + kLanes, sum[r][1]);
    FinishRow(a, row + static_cast<std::size_t>(r), col, total[r]);
  }
}

using TileFn = void (*)(const GemmBf16Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>};

}  // namespace

void GemmBf16Avx2(const GemmBf16Args& a) {
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
