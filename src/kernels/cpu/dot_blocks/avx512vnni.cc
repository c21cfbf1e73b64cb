#include <immintrin.h>

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {
namespace {

// Twelve rows of x by sixteen outputs: twelve independent sums, a register of weights.
constexpr std::size_t kMaxRows = 12;

// The chains of kRows rows are in memory (L1): each is wanted once in eight groups.
template <int kRows, std::size_t kGroup>
void Tile(const DotBlocksArgs& a, std::size_t i) {
  __m512 chain[kBlockChains][kRows];
  for (auto& rows : chain) {
    for (__m512& c : rows) c = _mm512_setzero_ps();
  }
  const std::int8_t* x = a.x.q + i * a.x.q_stride;
  const float* x_scale = a.x.scale + i * a.x.n_blocks;
  const std::int32_t* x_sums = a.x.half_sums + 2 * i * a.x.n_blocks;
  for (std::size_t g = 0; g < a.k / kGroup; ++g) {
    const auto sum_of_x = [&](std::size_t r) {
      const std::int32_t* sums = x_sums + 2 * r * a.x.n_blocks;
      return kGroup == 16 ? sums[g] : sums[2 * g] + sums[2 * g + 1];
    };
    __m512i sum[kRows];
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kRows; ++r) sum[r] = _mm512_set1_epi32(-a.zero * sum_of_x(r));
    const std::uint8_t* w = a.w->q + g * kGroup * kBlockPanelOutputs;
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kGroup; t += 4) {
      const __m512i weights = _mm512_load_si512(w + t * kBlockPanelOutputs);
#pragma GCC unroll 12
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t four;
        __builtin_memcpy(&four, x + r * a.x.q_stride + g * kGroup + t, sizeof(four));
        sum[r] = _mm512_dpbusd_epi32(sum[r], weights, _mm512_set1_epi32(four));
      }
    }
    const __m512 scale = _mm512_load_ps(a.w->scale + g * kBlockPanelOutputs);
    __m512(&to)[kRows] = chain[g % kBlockChains];
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kRows; ++r) {
      const float s = x_scale[r * a.x.n_blocks + g * kGroup / kInputBlock];
      to[r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r]), _mm512_mul_ps(scale, _mm512_set1_ps(s)),
                              to[r]);
    }
    if (!a.has_min) continue;
    const __m512 min = _mm512_load_ps(a.w->min + g * kBlockPanelOutputs);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kRows; ++r) {
      const float s = x_scale[r * a.x.n_blocks + g * kGroup / kInputBlock];
      to[r] = _mm512_fmadd_ps(min, _mm512_set1_ps(s * static_cast<float>(sum_of_x(r))), to[r]);
    }
  }
  const auto exists = static_cast<__mmask16>((1u << a.n) - 1u);
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto add = [&](std::size_t c) { return _mm512_add_ps(chain[c][r], chain[c + 1][r]); };
    const __m512 y = _mm512_add_ps(_mm512_add_ps(add(0), add(2)), _mm512_add_ps(add(4), add(6)));
    _mm512_mask_storeu_ps(a.y + (i + r) * a.y_stride, exists, y);
  }
}

using TileFn = void (*)(const DotBlocksArgs&, std::size_t i);
template <std::size_t kGroup>
constexpr TileFn kTiles[kMaxRows + 1] = {
    nullptr,          Tile<1, kGroup>,  Tile<2, kGroup>, Tile<3, kGroup>, Tile<4, kGroup>,
    Tile<5, kGroup>,  Tile<6, kGroup>,  Tile<7, kGroup>, Tile<8, kGroup>, Tile<9, kGroup>,
    Tile<10, kGroup>, Tile<11, kGroup>, Tile<12, kGroup>};

}  // namespace

void DotBlocksAvx512Vnni(const DotBlocksArgs& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const TileFn* tiles = a.group == 16 ? kTiles<16> : kTiles<32>;
  for (std::size_t tile = 0; tile < n_tiles; ++tile) {
    // Rows are dealt out evenly: 13 are 7 and 6, not 12 and 1.
    const std::size_t begin = a.m * tile / n_tiles, end = a.m * (tile + 1) / n_tiles;
    tiles[end - begin](a, begin);
  }
}

}  // namespace lattice::kernels
