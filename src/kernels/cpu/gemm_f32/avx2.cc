#include <immintrin.h>

#include "kernels/cpu/gemm_f32/variants.h"

namespace lattice::kernels {
namespace {

// Six rows by two registers of outputs: twelve sums, two weights and a broadcast input of 16
// registers.
constexpr std::size_t kMaxRows = 6;
constexpr std::size_t kLanes = 8;
constexpr std::size_t kStrip = 2 * kLanes;                            // Half a panel.
constexpr std::size_t kStepBytes = kF32PanelOutputs * sizeof(float);  // One input of one panel.
constexpr std::size_t kStreamAheadBytes = 4096;

// Weights that will be wanted later, fetched a little with each step.
struct Prefetch {
  const char* next;
  std::size_t step_bytes;
};

template <int kRows>
[[gnu::always_inline]] inline void Chain(const float* x, std::size_t x_stride, const float* w,
                                         std::size_t k, Prefetch fetch, __m256 (&sum)[kRows][2]) {
  for (auto& row : sum) row[0] = row[1] = _mm256_setzero_ps();
  for (std::size_t t = 0; t < k; ++t) {
    _mm_prefetch(fetch.next, _MM_HINT_T0);
    fetch.next += fetch.step_bytes;
    const __m256 w0 = _mm256_load_ps(w + t * kF32PanelOutputs);
    const __m256 w1 = _mm256_load_ps(w + t * kF32PanelOutputs + kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m256 input = _mm256_broadcast_ss(x + static_cast<std::size_t>(r) * x_stride + t);
      sum[r][0] = _mm256_fmadd_ps(input, w0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(input, w1, sum[r][1]);
    }
  }
}

// Adds what follows the blocks and stores the outputs that exist.
void FinishRow(const GemmF32Args& a, std::size_t row, std::size_t col, float* total) {
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
void Tile(const GemmF32Args& a, std::size_t row, std::size_t col, Prefetch fetch) {
  alignas(32) float total[kRows][kStrip];
  const float* x = a.x + row * a.x_stride;
  const float* w = a.w + col / kF32PanelOutputs * a.k * kF32PanelOutputs + col % kF32PanelOutputs;
  for (std::size_t begin = 0; begin < a.k; begin += kF32BlockInputs) {
    const std::size_t size = a.k - begin < kF32BlockInputs ? a.k - begin : kF32BlockInputs;
    __m256 sum[kRows][2];
    Chain<kRows>(x + begin, a.x_stride, w + begin * kF32PanelOutputs, size, fetch, sum);
    fetch.next += size * fetch.step_bytes;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < 2; ++v) {
        float* partial = &total[r][v * kLanes];
        if (begin != 0) sum[r][v] = _mm256_add_ps(_mm256_load_ps(partial), sum[r][v]);
        _mm256_store_ps(partial, sum[r][v]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) FinishRow(a, row + static_cast<std::size_t>(r), col, total[r]);
}

using TileFn = void (*)(const GemmF32Args&, std::size_t row, std::size_t col, Prefetch);
constexpr TileFn kTiles[kMaxRows + 1] = {nullptr, Tile<1>, Tile<2>, Tile<3>,
                                         Tile<4>, Tile<5>, Tile<6>};

const char* Strip(const GemmF32Args& a, std::size_t col) {
  return reinterpret_cast<const char*>(a.w + col / kF32PanelOutputs * a.k * kF32PanelOutputs +
                                       col % kF32PanelOutputs);
}

}  // namespace

void GemmF32Avx2(const GemmF32Args& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  for (std::size_t col = 0; col < a.n; col += kStrip) {
    for (std::size_t tile = 0; tile < n_tiles; ++tile) {
      const std::size_t begin = a.m * tile / n_tiles;
      const std::size_t end = a.m * (tile + 1) / n_tiles;
      // A lone tile reads the strip as one stream; several share the work of fetching the next.
      const char* strip = Strip(a, col);
      Prefetch fetch{strip + kStreamAheadBytes, kStepBytes};
      if (n_tiles > 1) {
        const std::size_t step = kStepBytes / n_tiles;
        fetch = {Strip(a, col + kStrip) + tile * a.k * step, step};
      }
      kTiles[end - begin](a, begin, col, fetch);
    }
  }
}

}  // namespace lattice::kernels
