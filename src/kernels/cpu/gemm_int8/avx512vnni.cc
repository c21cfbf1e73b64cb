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
[[gnu::always_inline]] inline void Sum(const std::uint8_t* x, std::size_t x_stride, std::size_t k,
                                       const std::int8_t* w, Prefetch fetch,
                                       __m512i (&sum)[kRows][2]) {
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
      __builtin_memcpy(&four, x + static_cast<std::size_t>(r) * x_stride + t, sizeof(four));
      const __m512i input = _mm512_set1_epi32(four);
      sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], input, w0);
      sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], input, w1);
    }
  }
}

// Adds a block's sums, scaled, to the totals of 32 outputs.
template <int kRows>
[[gnu::always_inline]] inline void AddBlock(const GemmInt8Args& a, std::size_t row,
                                            std::size_t n_blocks, std::size_t block,
                                            const float* w_sum, const float* w_scale,
                                            const __m512i (&sum)[kRows][2],
                                            float (&total)[kRows][kInt8PanelOutputs]) {
#pragma GCC unroll 2
  for (std::size_t v = 0; v < 2; ++v) {
    const __m512 w_sums = _mm512_loadu_ps(w_sum + v * kLanes);
    const __m512 w_scales = _mm512_loadu_ps(w_scale + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const std::size_t at = (row + static_cast<std::size_t>(r)) * n_blocks + block;
      const __m512 exact =
          _mm512_fnmadd_ps(_mm512_set1_ps(a.x_zero[at]), w_sums, _mm512_cvtepi32_ps(sum[r][v]));
      const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.x_scale[at]), w_scales);
      float* to = &total[r][v * kLanes];
      _mm512_store_ps(to, _mm512_fmadd_ps(exact, scale, _mm512_load_ps(to)));
    }
  }
}

// Stores the outputs that exist.
template <int kRows>
[[gnu::always_inline]] inline void Store(const GemmInt8Args& a, std::size_t row, std::size_t col,
                                         const float (&total)[kRows][kInt8PanelOutputs]) {
  const std::size_t n = a.n - col < kInt8PanelOutputs ? a.n - col : kInt8PanelOutputs;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    const std::size_t i = row + static_cast<std::size_t>(r);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      const std::size_t j = col + v * kLanes;
      const auto exists = static_cast<__mmask16>(mask >> (v * kLanes));
      __m512 y = _mm512_load_ps(&total[r][v * kLanes]);
      if (a.residual != nullptr) {
        y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(exists, a.residual + i * a.residual_stride + j));
      }
      _mm512_mask_storeu_ps(a.y + i * a.y_stride + j, exists, y);
    }
  }
}

template <int kRows>
void Tile(const GemmInt8Args& a, std::size_t row, std::size_t panel, Prefetch fetch) {
  const std::size_t col = panel * kInt8PanelOutputs;
  const std::size_t n_blocks = Int8Blocks(a.k);
  alignas(64) float total[kRows][kInt8PanelOutputs];
  for (auto& outputs : total) {
    _mm512_store_ps(outputs, _mm512_loadu_ps(a.bias + col));
    _mm512_store_ps(outputs + kLanes, _mm512_loadu_ps(a.bias + col + kLanes));
  }
  for (std::size_t b = 0; b < n_blocks; ++b) {
    const std::size_t begin = b * kInt8BlockInputs;
    const std::size_t size = a.k - begin < kInt8BlockInputs ? a.k - begin : kInt8BlockInputs;
    __m512i sum[kRows][2];
    Sum<kRows>(a.x + row * a.k + begin, a.k, size, a.w + (panel * a.k + begin) * kInt8PanelOutputs,
               fetch, sum);
    fetch.next += size / kGroup * fetch.step_bytes;
    const std::size_t at = (panel * n_blocks + b) * kInt8PanelOutputs;
    AddBlock<kRows>(a, row, n_blocks, b, a.w_sum + at, a.w_scale + at, sum, total);
  }
  Store<kRows>(a, row, col, total);
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
