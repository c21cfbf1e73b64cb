#include <immintrin.h>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// Six rows by two registers of outputs: twelve sums, two weights and a broadcast input of 16
// registers.
constexpr std::size_t kMaxRows = 6;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kStrip = 2 * kLanes;  // Half a panel.
constexpr std::size_t kGroup = 4;

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t k, const std::int8_t* w,
                                       __m256i (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
  for (std::size_t t = 0; t < k; t += kGroup) {
    const auto* step = reinterpret_cast<const __m256i*>(w + t * kInt8PanelOutputs);
    const __m256i w0 = _mm256_load_si256(step), w1 = _mm256_load_si256(step + 1);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, x + static_cast<std::size_t>(r) * k + t, sizeof(four));
      const __m256i input = _mm256_set1_epi32(four);
      sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], input, w0);
      sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], input, w1);
    }
  }
}

// The weights of input t for eight outputs from `col`.
__m256 WeightsOf(const GemmInt8Args& a, std::size_t t, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  const std::int8_t* w = a.w + (col - in_panel) * a.k + t / kGroup * kGroup * kInt8PanelOutputs;
  const __m256i four = _mm256_load_si256(reinterpret_cast<const __m256i*>(w + in_panel * kGroup));
  const __m128i to_top = _mm_cvtsi32_si128(static_cast<int>(24 - 8 * (t % kGroup)));
  return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_sll_epi32(four, to_top), 24));
}

// Scales eight sums of one row and stores the outputs that exist.
void Finish(const GemmInt8Args& a, std::size_t row, std::size_t col, __m256i sum) {
  const Int8Row& x = a.x_row[row];
  const auto* w_sum = reinterpret_cast<const __m256i*>(a.w_sum + col);
  const __m256 w_scale = _mm256_loadu_ps(a.w_scale + col);
  sum = _mm256_sub_epi32(sum,
                         _mm256_mullo_epi32(_mm256_set1_epi32(x.zero), _mm256_loadu_si256(w_sum)));
  __m256 y =
      _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_mul_ps(_mm256_set1_ps(x.scale), w_scale),
                      _mm256_loadu_ps(a.bias + col));
  y = _mm256_fmadd_ps(WeightsOf(a, x.outlier_at, col),
                      _mm256_mul_ps(_mm256_set1_ps(x.outlier), w_scale), y);
  float* out = a.y + row * a.y_stride + col;
  const float* residual =
      a.residual == nullptr ? nullptr : a.residual + row * a.residual_stride + col;
  if (a.n - col >= kLanes) {
    if (residual != nullptr) y = _mm256_add_ps(y, _mm256_loadu_ps(residual));
    _mm256_storeu_ps(out, y);
    return;
  }
  alignas(32) float values[kLanes];
  _mm256_store_ps(values, y);
  for (std::size_t j = 0; j < a.n - col; ++j) {
    out[j] = residual == nullptr ? values[j] : values[j] + residual[j];
  }
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  __m256i sum[kRows][2];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + (col - in_panel) * a.k + in_panel * kGroup, sum);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    Finish(a, row + static_cast<std::size_t>(r), col, sum[r][0]);
    if (col + kLanes < a.n) Finish(a, row + static_cast<std::size_t>(r), col + kLanes, sum[r][1]);
  }
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>,
                                         Tile<4>, Tile<5>, Tile<6>};

}  // namespace

void GemmInt8AvxVnni(const GemmInt8Args& a) {
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
