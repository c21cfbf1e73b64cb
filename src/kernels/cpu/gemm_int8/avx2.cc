#include <immintrin.h>

#include <utility>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// VPMADDUBSW saturates at 16 bits, so inputs and weights are widened and multiplied as 16-bit
// numbers: of a group's four, the first and third make one pair, the second and fourth another,
// which takes shifts and no shuffle. Inputs are widened once (WidenInt8InputsAvx2); weights where
// they are used, for six rows by two registers of outputs: twelve sums, two weights, an input.
constexpr std::size_t kMaxRows = 6;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kStrip = 2 * kLanes;  // Half a panel.
constexpr std::size_t kGroup = 4;

[[gnu::always_inline]] inline void AddPair(const std::int16_t* x, __m256i w0, __m256i w1,
                                           __m256i (&sum)[2]) {
  std::int32_t pair;
  __builtin_memcpy(&pair, x, sizeof(pair));
  const __m256i input = _mm256_set1_epi32(pair);
  sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(input, w0));
  sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(input, w1));
  // Additions of integers may be put in another order, which would need more registers.
  asm("" : "+x"(sum[0]), "+x"(sum[1]));
}

// total[r][j] = sum over t of x[r][t] * w[t][j]. Rows are unrolled by the pack, not by the
// optimiser, which would do it too late to keep the sums in registers.
template <std::size_t... kRow>
[[gnu::always_inline]] inline void Sum(const std::int16_t* x, std::size_t k, const std::int8_t* w,
                                       std::int32_t (*total)[kStrip],
                                       std::index_sequence<kRow...>) {
  __m256i sum[sizeof...(kRow)][2] = {};
  for (std::size_t t = 0; t < k; t += kGroup) {
    const auto* step = reinterpret_cast<const __m256i*>(w + t * kInt8PanelOutputs);
    const __m256i w0 = _mm256_load_si256(step), w1 = _mm256_load_si256(step + 1);
    const __m256i first0 = _mm256_srai_epi16(_mm256_slli_epi16(w0, 8), 8);
    const __m256i first1 = _mm256_srai_epi16(_mm256_slli_epi16(w1, 8), 8);
    (AddPair(x + kRow * k + t, first0, first1, sum[kRow]), ...);
    const __m256i second0 = _mm256_srai_epi16(w0, 8), second1 = _mm256_srai_epi16(w1, 8);
    (AddPair(x + kRow * k + t + 2, second0, second1, sum[kRow]), ...);
  }
  (_mm256_store_si256(reinterpret_cast<__m256i*>(total[kRow]), sum[kRow][0]), ...);
  (_mm256_store_si256(reinterpret_cast<__m256i*>(total[kRow] + kLanes), sum[kRow][1]), ...);
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
void Finish(const GemmInt8Args& a, std::size_t row, std::size_t col, const std::int32_t* total) {
  __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(total));
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

void FinishRow(const GemmInt8Args& a, std::size_t row, std::size_t col, const std::int32_t* total) {
  Finish(a, row, col, total);
  if (col + kLanes < a.n) Finish(a, row, col + kLanes, total + kLanes);
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t col) {
  const std::size_t in_panel = col % kInt8PanelOutputs;
  alignas(32) std::int32_t total[kRows][kStrip];
  Sum(reinterpret_cast<const std::int16_t*>(a.x) + row * a.k, a.k,
      a.w + (col - in_panel) * a.k + in_panel * kGroup, total, std::make_index_sequence<kRows>());
  for (int r = 0; r < kRows; ++r) FinishRow(a, row + static_cast<std::size_t>(r), col, total[r]);
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t col);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>,
                                         Tile<4>, Tile<5>, Tile<6>};

}  // namespace

void GemmInt8Avx2(const GemmInt8Args& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  for (std::size_t col = 0; col < a.n; col += kStrip) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      kTiles[end - begin](a, begin, col);
    }
  }
}

void WidenInt8InputsAvx2(std::uint8_t* row, std::size_t k) {
  for (std::size_t t = k; t > 0; t -= sizeof(__m256i)) {  // From the end: it grows in its place.
    const auto* from = reinterpret_cast<const __m256i*>(row + t) - 1;
    auto* to = reinterpret_cast<__m256i*>(row + 2 * t) - 2;
    const __m256i bytes = _mm256_load_si256(from);
    const __m256i first = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
    const __m256i second = _mm256_srli_epi16(bytes, 8);
    const __m256i low = _mm256_unpacklo_epi32(first, second);
    const __m256i high = _mm256_unpackhi_epi32(first, second);
    _mm256_store_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_store_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

}  // namespace lattice::kernels
