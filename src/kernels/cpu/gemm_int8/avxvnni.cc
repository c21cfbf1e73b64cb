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
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t x_stride, std::size_t k,
                                       const std::int8_t* w, __m256i (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_si256();
  for (std::size_t t = 0; t < k; t += kGroup) {
    const auto* step = reinterpret_cast<const __m256i*>(w + t * kInt8PanelOutputs);
    const __m256i w0 = _mm256_load_si256(step), w1 = _mm256_load_si256(step + 1);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, x + static_cast<std::size_t>(r) * x_stride + t, sizeof(four));
      const __m256i input = _mm256_set1_epi32(four);
      sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], input, w0);
      sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], input, w1);
    }
  }
}

// Adds eight sums of one row and block, scaled, to the totals.
void AddBlock(const GemmInt8Args& a, std::size_t x_at, std::size_t w_at, __m256i sum,
              float* total) {
  const __m256 exact = _mm256_fnmadd_ps(_mm256_set1_ps(a.x_zero[x_at]),
                                        _mm256_loadu_ps(a.w_sum + w_at), _mm256_cvtepi32_ps(sum));
  const __m256 scale =
      _mm256_mul_ps(_mm256_set1_ps(a.x_scale[x_at]), _mm256_loadu_ps(a.w_scale + w_at));
  _mm256_store_ps(total, _mm256_fmadd_ps(exact, scale, _mm256_load_ps(total)));
}

// Stores those of eight outputs of one row that exist.
void Store(const GemmInt8Args& a, std::size_t row, std::size_t col, const float* total) {
  if (col >= a.n) return;
  float* out = a.y + row * a.y_stride + col;
  const float* residual =
      a.residual == nullptr ? nullptr : a.residual + row * a.residual_stride + col;
  if (a.n - col >= kLanes) {
    __m256 y = _mm256_load_ps(total);
    if (residual != nullptr) y = _mm256_add_ps(y, _mm256_loadu_ps(residual));
    _mm256_storeu_ps(out, y);
    return;
  }
  for (std::size_t j = 0; j < a.n - col; ++j) {
    out[j] = residual == nullptr ? total[j] : total[j] + residual[j];
  }
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  const std::size_t n_blocks = Int8Blocks(a.k);
  alignas(32) float total[kRows][kStrip];
  for (auto& outputs : total) {
    _mm256_store_ps(outputs, _mm256_loadu_ps(a.bias + col));
    _mm256_store_ps(outputs + kLanes, _mm256_loadu_ps(a.bias + col + kLanes));
  }
  for (std::size_t b = 0; b < n_blocks; ++b) {
    const std::size_t begin = b * kInt8BlockInputs;
    const std::size_t size = a.k - begin < kInt8BlockInputs ? a.k - begin : kInt8BlockInputs;
    __m256i sum[kRows][2];
    Sum<kRows>(a.x + row * a.k + begin, a.k, size,
               a.w + (col - in_panel) * a.k + begin * kInt8PanelOutputs + in_panel * kGroup, sum);
    const std::size_t at = (col - in_panel) * n_blocks + b * kInt8PanelOutputs + in_panel;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const std::size_t i = row + static_cast<std::size_t>(r);
      AddBlock(a, i * n_blocks + b, at, sum[r][0], total[r]);
      AddBlock(a, i * n_blocks + b, at + kLanes, sum[r][1], total[r] + kLanes);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    Store(a, row + static_cast<std::size_t>(r), col, total[r]);
    Store(a, row + static_cast<std::size_t>(r), col + kLanes, total[r] + kLanes);
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
