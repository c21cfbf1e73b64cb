#include <immintrin.h>

#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {
namespace {

// Twelve rows by two registers of outputs keep 24 independent sums, over the 8 that two
// multiply-add units of latency 4 need, and leave registers for two weights and a broadcast input.
constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kStepBytes = kF32PanelOutputs * sizeof(float);  // one input of one panel
constexpr std::size_t kStreamAheadBytes = 8192;

// Weights that will be wanted later, fetched into L2 a little with each step.
struct Prefetch {
  const char* next;
  std::size_t step_bytes;
};

// Adds up one block of inputs.
template <int kRows>
[[gnu::always_inline]] inline void Chain(const float* x, std::size_t x_stride, const float* w,
                                         std::size_t k, Prefetch fetch, __m512 (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm512_setzero_ps();
  for (std::size_t t = 0; t < k; ++t) {
    _mm_prefetch(fetch.next, _MM_HINT_T1);
    _mm_prefetch(fetch.next + kStepBytes / 2, _MM_HINT_T1);
    fetch.next += fetch.step_bytes;
    const __m512 w0 = _mm512_load_ps(w + t * kF32PanelOutputs);
    const __m512 w1 = _mm512_load_ps(w + t * kF32PanelOutputs + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512 input = _mm512_set1_ps(x[static_cast<std::size_t>(r) * x_stride + t]);
      sum[r][0] = _mm512_fmadd_ps(input, w0, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(input, w1, sum[r][1]);
    }
  }
}

// Adds what follows the blocks and stores the outputs that exist.
template <int kRows>
[[gnu::always_inline]] inline void Finish(const GemmF32Args& a, std::size_t row, std::size_t col,
                                          const __m512 (&sum)[kRows][2]) {
  const std::size_t n = a.n - col < kF32PanelOutputs ? a.n - col : kF32PanelOutputs;
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
void Tile(const GemmF32Args& a, std::size_t row, std::size_t panel, Prefetch fetch) {
  alignas(64) float total[kRows][kF32PanelOutputs];
  const float* x = a.x + row * a.x_stride;
  const float* w = a.w + panel * a.k * kF32PanelOutputs;
  __m512 sum[kRows][2];
  for (std::size_t begin = 0; begin < a.k; begin += kF32BlockInputs) {
    const std::size_t size = a.k - begin < kF32BlockInputs ? a.k - begin : kF32BlockInputs;
    Chain<kRows>(x + begin, a.x_stride, w + begin * kF32PanelOutputs, size, fetch, sum);
    fetch.next += size * fetch.step_bytes;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; ++v) {
        float* partial = &total[r][v * kLanes];
        if (begin != 0) sum[r][v] = _mm512_add_ps(_mm512_load_ps(partial), sum[r][v]);
        if (begin + size < a.k) _mm512_store_ps(partial, sum[r][v]);
      }
    }
  }
  Finish<kRows>(a, row, panel * kF32PanelOutputs, sum);
}

using TileFn = void (*)(const GemmF32Args&, std::size_t row, std::size_t panel, Prefetch);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr,  Tile<1>,  Tile<2>, Tile<3>, Tile<4>,
                                         Tile<5>,  Tile<6>,  Tile<7>, Tile<8>, Tile<9>,
                                         Tile<10>, Tile<11>, Tile<12>};

}  // namespace

void GemmF32Avx512(const GemmF32Args& a) {
  const std::size_t n_panels = (a.n + kF32PanelOutputs - 1) / kF32PanelOutputs;
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const std::size_t panel_bytes = a.k * kStepBytes;
  const auto* w = reinterpret_cast<const char*>(a.w);
  for (std::size_t p = 0; p < n_panels; ++p) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      // Rows are dealt out evenly: 13 are 7 and 6, not 12 and 1.
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      // A lone tile reads the panels as one stream. Several share the work of fetching the next
      // one.
      Prefetch fetch{w + p * panel_bytes + kStreamAheadBytes, kStepBytes};
      if (n_tiles > 1) {
        const std::size_t step = kStepBytes / n_tiles;
        fetch = {w + (p + 1) * panel_bytes + tile * a.k * step, step};
      }
      kTiles[end - begin](a, begin, p, fetch);
    }
  }
}

}  // namespace lattice::kernels
