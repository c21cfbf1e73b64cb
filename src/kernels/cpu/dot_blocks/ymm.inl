// DotBlocks in 256-bit registers: the including file comes with AddProducts<kWide>(sum, w, x),
// which adds the products of four unsigned with four signed bytes to each lane. kWide: w may be
// above 127.

#include <immintrin.h>

#include "kernels/cpu/dot_blocks/panels.inl"

namespace lattice::kernels {
namespace {

// Four rows of x by sixteen outputs: eight sums.
constexpr std::size_t kMaxRows = 4;

template <std::size_t kRows, bool kWide>
void Tile(const DotBlocksArgs& a, std::size_t i) {
  __m256 y[kRows][2];
  for (auto& row : y) row[0] = row[1] = _mm256_setzero_ps();
  const std::int8_t* x = a.x.q + i * a.x.q_stride;
  const float* x_scale = a.x.scale + i * a.x.n_blocks;
  const std::int32_t* x_sums = a.x.half_sums + 2 * i * a.x.n_blocks;
  for (std::size_t g = 0; g < a.k / a.group; ++g) {
    const auto sum_of_x = [&](std::size_t r) {
      const std::int32_t* sums = x_sums + 2 * r * a.x.n_blocks;
      return a.group == 16 ? sums[g] : sums[2 * g] + sums[2 * g + 1];
    };
    __m256i sum[kRows][2];
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r][0] = sum[r][1] = _mm256_set1_epi32(-a.zero * sum_of_x(r));
    }
    const std::uint8_t* w = a.w->q + g * a.group * kBlockPanelOutputs;
    for (std::size_t t = 0; t < a.group; t += 4) {
      const auto* at = reinterpret_cast<const __m256i*>(w + t * kBlockPanelOutputs);
      const __m256i weights[2] = {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, x + r * a.x.q_stride + g * a.group + t, sizeof(four));
        const __m256i input = _mm256_set1_epi32(four);
        for (int v = 0; v < 2; ++v) sum[r][v] = AddProducts<kWide>(sum[r][v], weights[v], input);
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const float s = x_scale[r * a.x.n_blocks + g * a.group / kInputBlock];
      const float offset = s * static_cast<float>(sum_of_x(r));
      for (std::size_t v = 0; v < 2; ++v) {
        const std::size_t at = g * kBlockPanelOutputs + 8 * v;
        const __m256 scale = _mm256_mul_ps(_mm256_load_ps(a.w->scale + at), _mm256_set1_ps(s));
        __m256& to = y[r][v];
        to = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[r][v]), scale, to);
        if (a.has_min) {
          to = _mm256_fmadd_ps(_mm256_load_ps(a.w->min + at), _mm256_set1_ps(offset), to);
        }
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    alignas(32) float row[kBlockPanelOutputs];
    for (std::size_t v = 0; v < 2; ++v) _mm256_store_ps(row + 8 * v, y[r][v]);
    for (std::size_t j = 0; j < a.n; ++j) a.y[(i + r) * a.y_stride + j] = row[j];
  }
}

template <bool kWide>
void Run(const DotBlocksArgs& a) {
  std::size_t i = 0;
  for (; i + 4 <= a.m; i += 4) Tile<4, kWide>(a, i);
  switch (a.m - i) {
    case 3:
      return Tile<3, kWide>(a, i);
    case 2:
      return Tile<2, kWide>(a, i);
    case 1:
      return Tile<1, kWide>(a, i);
    default:
      return;
  }
}

// A zero of 128 goes with all values of a byte, smaller ones with at most 6 bits.
void DotBlocks(const DotBlocksArgs& a) {
  ForPanels(a, [](const DotBlocksArgs& part) {
    if (part.zero == 128) return Run<true>(part);
    Run<false>(part);
  });
}

}  // namespace
}  // namespace lattice::kernels
