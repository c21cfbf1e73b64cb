#include <immintrin.h>

#include "kernels/cpu/gemm_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Bf16 numbers are the high halves of f32 ones: they are widened in registers and multiplied as
// f32. Eight rows by two registers of outputs: 16 sums, four weights, two inputs, a mask.
constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kStep = kBf16PanelOutputs * kGroup;  // weights of one step
constexpr std::size_t kStreamAhead = 4096;                 // weights, 8 KiB

// Weights that will be wanted later, fetched into L2 a little with each step.
struct Prefetch {
  const std::uint16_t* next;
  std::size_t step;
};

template <int kRows>
[[gnu::always_inline]] inline void Sum(const std::uint16_t* x, std::size_t k,
                                       const std::uint16_t* w, Prefetch fetch,
                                       __m512 (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_ps();
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  for (std::size_t t = 0; t < k; t += kGroup) {
    _mm_prefetch(fetch.next, _MM_HINT_T1);
    _mm_prefetch(fetch.next + kStep / 2, _MM_HINT_T1);
    fetch.next += fetch.step;
    __m512 first[2], second[2];  // weights of inputs t and t + 1
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      const __m512i pairs = _mm512_load_si512(w + v * kStep / 2);
      first[v] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
      second[v] = _mm512_castsi512_ps(_mm512_and_si512(pairs, high));
    }
    w += kStep;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      std::uint32_t two;
      __builtin_memcpy(&two, x + static_cast<std::size_t>(r) * k + t, sizeof(two));
      const __m512i pair = _mm512_set1_epi32(static_cast<int>(two));
      const __m512 a = _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16));
      const __m512 b = _mm512_castsi512_ps(_mm512_and_si512(pair, high));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; ++v) {
        sum[r][v] = _mm512_fmadd_ps(b, second[v], _mm512_fmadd_ps(a, first[v], sum[r][v]));
      }
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
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>, Tile<6>, Tile<7>, Tile<8>};

}  // namespace

void GemmBf16Avx512(const GemmBf16Args& a) {
  const std::size_t n_panels = (a.n + kBf16PanelOutputs - 1) / kBf16PanelOutputs;
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const std::size_t panel_size = a.k * kBf16PanelOutputs;
  for (std::size_t p = 0; p < n_panels; ++p) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      // Rows are dealt out evenly: 9 are 5 and 4, not 8 and 1.
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
