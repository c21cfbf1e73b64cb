#include <immintrin.h>

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {
namespace {

// Six rows of x by two panels: twelve independent sums, two registers of weights, an input.
constexpr std::size_t kMaxRows = 6;

// Panels p to p + kPanels of the rows from i on. Chains are in memory (L1): each is wanted once in
// eight groups.
template <std::size_t kRows, std::size_t kPanels, std::size_t kGroup>
void Tile(const DotBlocksArgs& a, std::size_t i, std::size_t p) {
  __m512 chain[kBlockChains][kRows][kPanels];
  for (auto& rows : chain) {
    for (auto& panels : rows) {
      for (__m512& c : panels) c = _mm512_setzero_ps();
    }
  }
  const BlockPanel* const w = a.w + p;
  const std::int8_t* const x = a.x.q + i * a.x.q_stride;
  const std::size_t n_blocks = a.x.n_blocks;
  const float* const x_scale = a.x.scale + i * n_blocks;
  const float* const x_offset = a.x.offset + i * n_blocks;
  constexpr std::size_t kSumsOfBlock = kInputBlock / kGroup;
  const std::int32_t* const x_sums =
      kGroup == 16 ? a.x.half_sums + 2 * i * n_blocks : a.x.sums + i * n_blocks;
  const __m512i less_zero = _mm512_set1_epi32(-a.zero);
  for (std::size_t g = 0; g < a.k / kGroup; ++g) {
    __m512i sum[kRows][kPanels];
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i all = _mm512_set1_epi32(x_sums[r * kSumsOfBlock * n_blocks + g]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) sum[r][v] = _mm512_mullo_epi32(all, less_zero);
    }
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kGroup; t += 4) {
      __m512i weights[kPanels];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        weights[v] = _mm512_load_si512(w[v].q + (g * kGroup + t) * kBlockPanelOutputs);
      }
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, x + r * a.x.q_stride + g * kGroup + t, sizeof(four));
        const __m512i input = _mm512_set1_epi32(four);
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kPanels; ++v) {
          sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], weights[v], input);
        }
      }
    }
    __m512(&to)[kRows][kPanels] = chain[g % kBlockChains];
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512 s = _mm512_set1_ps(x_scale[r * n_blocks + g / kSumsOfBlock]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        const __m512 scale = _mm512_load_ps(w[v].scale + g * kBlockPanelOutputs);
        to[r][v] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][v]), _mm512_mul_ps(scale, s), to[r][v]);
      }
    }
    if (!a.has_min) continue;
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t at = r * n_blocks + g / kSumsOfBlock;
      const float offset =
          kGroup == 32 ? x_offset[at]
                       : x_scale[at] * static_cast<float>(x_sums[r * kSumsOfBlock * n_blocks + g]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        const __m512 min = _mm512_load_ps(w[v].min + g * kBlockPanelOutputs);
        to[r][v] = _mm512_fmadd_ps(min, _mm512_set1_ps(offset), to[r][v]);
      }
    }
  }
  for (std::size_t v = 0; v < kPanels; ++v) {
    const std::size_t first = (p + v) * kBlockPanelOutputs;
    const std::size_t n = a.n - first < kBlockPanelOutputs ? a.n - first : kBlockPanelOutputs;
    const auto exists = static_cast<__mmask16>((1u << n) - 1u);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto add = [&](std::size_t c) {
        return _mm512_add_ps(chain[c][r][v], chain[c + 1][r][v]);
      };
      const __m512 y = _mm512_add_ps(_mm512_add_ps(add(0), add(2)), _mm512_add_ps(add(4), add(6)));
      _mm512_mask_storeu_ps(a.y + (i + r) * a.y_stride + first, exists, y);
    }
  }
}

template <std::size_t kRows, std::size_t kGroup>
void Stripe(const DotBlocksArgs& a, std::size_t i) {
  const std::size_t n_panels = (a.n + kBlockPanelOutputs - 1) / kBlockPanelOutputs;
  std::size_t p = 0;
  for (; p + 2 <= n_panels; p += 2) Tile<kRows, 2, kGroup>(a, i, p);
  if (p < n_panels) Tile<kRows, 1, kGroup>(a, i, p);
}

using StripeFn = void (*)(const DotBlocksArgs&, std::size_t i);
template <std::size_t kGroup>
constexpr StripeFn kStripes[kMaxRows + 1] = {
    nullptr,           Stripe<1, kGroup>, Stripe<2, kGroup>, Stripe<3, kGroup>,
    Stripe<4, kGroup>, Stripe<5, kGroup>, Stripe<6, kGroup>};

}  // namespace

void DotBlocksAvx512Vnni(const DotBlocksArgs& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const StripeFn* stripes = a.group == 16 ? kStripes<16> : kStripes<32>;
  for (std::size_t tile = 0; tile < n_tiles; ++tile) {
    // Rows are dealt out evenly: 7 are 4 and 3, not 6 and 1.
    const std::size_t begin = a.m * tile / n_tiles, end = a.m * (tile + 1) / n_tiles;
    stripes[end - begin](a, begin);
  }
}

}  // namespace lattice::kernels
