#include <immintrin.h>

#include "kernels/cpu/gemm_int8/variants.h"

namespace lattice::kernels {
namespace {

// Twelve rows by two registers of outputs: 24 independent sums, two weights, a broadcast input.
constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kGroup = 4;
constexpr std::size_t kStepBytes = kInt8PanelOutputs * kGroup;
constexpr std::size_t kStreamAheadBytes = 8192;

// Weights that will be wanted later, fetched into L2 a little with each step.
struct Prefetch {
  const std::int8_t* next;
  std::size_t step_bytes;
};

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t k, const std::int8_t* w,
                                       Prefetch fetch, __m512i (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_si512();
  for (std::size_t t = 0; t < k; t += kGroup) {
    _mm_prefetch(fetch.next, _MM_HINT_T1);
    _mm_prefetch(fetch.next + kStepBytes / 2, _MM_HINT_T1);
    fetch.next += fetch.step_bytes;
    const __m512i w0 = _mm512_load_si512(w);
    const __m512i w1 = _mm512_load_si512(w + kStepBytes / 2);
    w += kStepBytes;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      std::int32_t four;
      __builtin_memcpy(&four, x + static_cast<std::size_t>(r) * k + t, sizeof(four));
      const __m512i input = _mm512_set1_epi32(four);
      sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], input, w0);
      sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], input, w1);
    }
  }
}

// The weights of input t for sixteen outputs whose first four bytes are at `w`.
[[gnu::always_inline]] inline __m512 WeightsOf(std::size_t t, const std::int8_t* w) {
  const __m512i four = _mm512_load_si512(w + t / kGroup * kStepBytes);
  const __m128i to_top = _mm_cvtsi32_si128(static_cast<int>(24 - 8 * (t % kGroup)));
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_sll_epi32(four, to_top), 24));
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t panel, Prefetch fetch) {
  const std::int8_t* w = a.w + panel * a.k * kInt8PanelOutputs;
  __m512i sum[kRows][2];
  Sum<kRows>(a.x + row * a.k, a.k, w, fetch, sum);
  const std::size_t col = panel * kInt8PanelOutputs;
  const std::size_t n = a.n - col < kInt8PanelOutputs ? a.n - col : kInt8PanelOutputs;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
#pragma GCC unroll 2
  for (std::size_t v = 0; v < 2; ++v) {
    const std::size_t j = col + v * kLanes;
    const auto exists = static_cast<__mmask16>(mask >> (v * kLanes));
    const __m512i w_sum = _mm512_loadu_si512(a.w_sum + j);
    const __m512 w_scale = _mm512_loadu_ps(a.w_scale + j);
    const __m512 bias = _mm512_loadu_ps(a.bias + j);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const std::size_t i = row + static_cast<std::size_t>(r);
      const Int8Row& x = a.x_row[i];
      const __m512i zero = _mm512_mullo_epi32(_mm512_set1_epi32(x.zero), w_sum);
      const __m512 exact = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum[r][v], zero));
      __m512 y = _mm512_fmadd_ps(exact, _mm512_mul_ps(_mm512_set1_ps(x.scale), w_scale), bias);
      y = _mm512_fmadd_ps(WeightsOf(x.outlier_at, w + v * kLanes * kGroup),
                          _mm512_mul_ps(_mm512_set1_ps(x.outlier), w_scale), y);
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, exists, y);
    }
  }
}

using TileFn = void (*)(const GemmInt8Args&, std::size_t row, std::size_t panel, Prefetch);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr,  Tile<1>,  Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>,  Tile<6>,  Tile<7>, Tile<8>, Tile<9>,
                                         Tile<10>, Tile<11>, Tile<12>};

}  // namespace

void GemmInt8Avx512Vnni(const GemmInt8Args& a) {
  const std::size_t n_panels = (a.n + kInt8PanelOutputs - 1) / kInt8PanelOutputs;
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const std::size_t panel_bytes = a.k * kInt8PanelOutputs;
  for (std::size_t p = 0; p < n_panels; ++p) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      // Rows are dealt out evenly: 13 are 7 and 6, not 12 and 1.
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      // A lone tile reads the panels as one stream. Several share the work of fetching the next
      // one.
      Prefetch fetch{a.w + p * panel_bytes + kStreamAheadBytes, kStepBytes};
      if (n_tiles > 1) {
        const std::size_t step = kStepBytes / n_tiles;
        fetch = {a.w + (p + 1) * panel_bytes + tile * (a.k / kGroup) * step, step};
      }
      kTiles[end - begin](a, begin, p, fetch);
    }
  }
}

}  // namespace lattice::kernels
