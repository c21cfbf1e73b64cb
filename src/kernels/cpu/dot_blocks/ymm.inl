// DotBlocks in 256-bit registers: the including file comes with kWideIsSigned and
//   AddGroup<kMaxWeight>(x, x_stride, group, w, sum)
// which adds the products of a group of x's rows and a panel's weights, at most kMaxWeight, to
// sum[rows][2]; above 127 with 128 taken from them when kWideIsSigned.

#include <immintrin.h>

#include "kernels/cpu/dot_blocks/panels.inl"

namespace lattice::kernels {
namespace {

// Four rows of x by sixteen outputs: eight sums.
constexpr std::size_t kMaxRows = 4;

template <std::size_t kRows, int kMaxWeight>
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
    constexpr bool kStartsAtZero = kWideIsSigned && kMaxWeight > 127;
    __m256i sum[kRows][2];
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[r][0] = sum[r][1] = _mm256_set1_epi32(kStartsAtZero ? 0 : -a.zero * sum_of_x(r));
    }
    AddGroup<kMaxWeight>(x + g * a.group, a.x.q_stride, a.group,
                         a.w->q + g * a.group * kBlockPanelOutputs, sum);
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

template <int kMaxWeight>
void Run(const DotBlocksArgs& a) {
  std::size_t i = 0;
  for (; i + 4 <= a.m; i += 4) Tile<4, kMaxWeight>(a, i);
  switch (a.m - i) {
    case 3:
      return Tile<3, kMaxWeight>(a, i);
    case 2:
      return Tile<2, kMaxWeight>(a, i);
    case 1:
      return Tile<1, kMaxWeight>(a, i);
    default:
      return;
  }
}

// As DotBlocksArgs says of zero.
void DotBlocks(const DotBlocksArgs& a) {
  ForPanels(a, [](const DotBlocksArgs& part) {
    if (part.zero == 128) return Run<255>(part);
    if (part.zero == 32) return Run<63>(part);
    Run<31>(part);
  });
}

}  // namespace
}  // namespace lattice::kernels
