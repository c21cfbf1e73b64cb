#include <immintrin.h>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Twelve rows by two registers of outputs: 24 independent sums, two weights, a broadcast input.
constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kStep = kBf16PanelOutputs * kGroup;  // weights of one step
constexpr std::size_t kStreamAhead = 4096;                 // weights, 8 KiB

// Weights that will be wanted later, fetched into L2 a little with each step.
struct Prefetch {
  const std::uint16_t* next;
  std::size_t step;
};

// Adds the products of two inputs and two weights to each sum.
[[gnu::always_inline]] inline __m512 AddProducts(__m512 sum, __m512i inputs, __m512i weights) {
  return _mm512_dpbf16_ps(sum, (__m512bh)inputs, (__m512bh)weights);
}

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint16_t* x, std::size_t k,
                                       const std::uint16_t* w, Prefetch fetch,
                                       __m512 (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_ps();
  for (std::size_t t = 0; t < k; t += kGroup) {
    _mm_prefetch(fetch.next, _MM_HINT_T1);
    _mm_prefetch(fetch.next + kStep / 2, _MM_HINT_T1);
    fetch.next += fetch.step;
    const __m512i w0 = _mm512_load_si512(w);
    const __m512i w1 = _mm512_load_si512(w + kStep / 2);
    w += kStep;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      std::int32_t two;
      __builtin_memcpy(&two, x + static_cast<std::size_t>(r) * k + t, sizeof(two));
      const __m512i input = _mm512_set1_epi32(two);
      sum[r][0] = AddProducts(sum[r][0], input, w0);
      sum[r][1] = AddProducts(sum[r][1], input, w1);
    }
  }
}

// Adds what follows the products and stores the outputs that exist.
template <int kRows>
[[gnu::always_inline]] inline void Finish(const GemmBf16Args& a, std::size_t row, std::size_t col,
                                          const __m512 (&sum)[kRows][2]) {
  const std::size_t n = a.n - col < kBf16PanelOutputs ? a.n - col : kBf16PanelOutputs;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
  const __mmask16 masks[2] = {static_cast<__mmask16>(mask), static_cast<__mmask16>(mask >> 16)};
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const std::size_t i = row + static_cast<std::size_t>(r);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t j = col + v * kLanes;
      __m512 y = _mm512_add_ps(sum[r][v], _mm512_loadu_ps(a.bias + j));
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y,
                          _mm512_maskz_loadu_ps(masks[v], a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, masks[v], y);
    }
  }
}

template <int kRows>
void Tile(const GemmBf16Args& a, std::size_t row, std::size_t panel, Prefetch fetch) {
  __m512 sum[kRows][2];
  Sum<kRows>(a.x + row * a.k, a.k, a.w + panel * a.k * kBf16PanelOutputs, fetch, sum);
  Finish<kRows>(a, row, panel * kBf16PanelOutputs, sum);
}

using TileFn = void (*)(const GemmBf16Args&, std::size_t row, std::size_t panel, Prefetch);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr,  Tile<1>,  Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>,  Tile<6>,  Tile<7>, Tile<8>, Tile<9>,
                                         Tile<10>, Tile<11>, Tile<12>};

}  // namespace

void GemmBf16Avx512Bf16(const GemmBf16Args& a) {
  const std::size_t n_panels = (a.n + kBf16PanelOutputs - 1) / kBf16PanelOutputs;
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const std::size_t panel_size = a.k * kBf16PanelOutputs;
  for (std::size_t p = 0; p < n_panels; ++p) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      // Rows are dealt out evenly: 13 are 7 and 6, not 12 and 1.
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      // A lone tile reads the panels as one stream. Several share the work of fetching the next
      // one.
      Prefetch fetch{a.w + p * panel_size + kStreamAhead, kStep};
      if (n_tiles > 1) {
        const std::size_t step = kStep / n_tiles;
        fetch = {a.w + (p + 1) * panel_size + tile * (a.k / kGroup) * step, step};
      }
      kTiles[end - begin](a, begin, p, fetch);
    }
  }
}

}  // namespace lattice::kernels
