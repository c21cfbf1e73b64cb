#include <immintrin.h>

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {
namespace {

// Six rows of x by two panels: twelve independent sums, two registers of weights, an input.
constexpr std::size_t kMaxRows = 6;

// Rows of an array, `stride` bytes apart, of which the processor can address six by two pointers:
// what more would take is short of registers.
template <typename T>
struct Rows {
  Rows(const T* first, std::size_t stride_items)
      : low(reinterpret_cast<const std::byte*>(first)), stride(stride_items * sizeof(T)) {
    high = low + 3 * stride;
  }
  const std::byte* row(std::size_t r) const {
    return r < 3 || r == 4 ? low + r * stride : high + (r - 3) * stride;
  }
  void Advance(std::size_t bytes) {
    low += bytes;
    high += bytes;
  }
  const std::byte *low, *high;
  std::size_t stride;
};

template <typename T>
inline T At(const std::byte* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(value));
  return value;
}

// Sums of a group's products, less zero times the sums of x.
template <std::size_t kRows, std::size_t kPanels, std::size_t kGroup>
inline void AddGroup(const Rows<std::int8_t>& x, const Rows<std::int32_t>& x_sums,
                     __m512i less_zero, const std::uint8_t* const (&q)[kPanels],
                     __m512i (&sum)[kRows][kPanels]) {
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kRows; ++r) {
    const __m512i all = _mm512_set1_epi32(At<std::int32_t>(x_sums.row(r)));
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kPanels; ++v) sum[r][v] = _mm512_mullo_epi32(all, less_zero);
  }
#pragma GCC unroll 8
  for (std::size_t t = 0; t < kGroup; t += 4) {
    __m512i weights[kPanels];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kPanels; ++v) {
      weights[v] = _mm512_load_si512(q[v] + t * kBlockPanelOutputs);
    }
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const __m512i input = _mm512_set1_epi32(At<std::int32_t>(x.row(r) + t));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], weights[v], input);
      }
    }
  }
}

// Panels p to p + kPanels of the rows from i on. Chains are in memory (L1): each is wanted once in
// eight groups.
template <std::size_t kRows, std::size_t kPanels, std::size_t kGroup, bool kHasMin>
void Tile(const DotBlocksArgs& a, std::size_t i, std::size_t p) {
  __m512 chain[kBlockChains][kRows][kPanels];
  for (auto& rows : chain) {
    for (auto& panels : rows) {
      for (__m512& c : panels) c = _mm512_setzero_ps();
    }
  }
  constexpr std::size_t kSumsOfBlock = kInputBlock / kGroup;
  const std::size_t n_blocks = a.x.n_blocks;
  Rows<std::int8_t> x(a.x.q + i * a.x.q_stride, a.x.q_stride);
  Rows<float> x_scale(a.x.scale + i * n_blocks, n_blocks);
  Rows<float> x_offset(a.x.offset + i * n_blocks, n_blocks);
  Rows<std::int32_t> x_sums((kGroup == 16 ? a.x.half_sums : a.x.sums) + kSumsOfBlock * i * n_blocks,
                            kSumsOfBlock * n_blocks);
  const std::uint8_t* q[kPanels];
  for (std::size_t v = 0; v < kPanels; ++v) q[v] = a.w[p + v].q;
  const __m512i less_zero = _mm512_set1_epi32(-a.zero);
  for (std::size_t g = 0; g < a.k / kGroup; ++g) {
    __m512i sum[kRows][kPanels];
    AddGroup<kRows, kPanels, kGroup>(x, x_sums, less_zero, q, sum);
    __m512(&to)[kRows][kPanels] = chain[g % kBlockChains];
    __m512 w_scale[kPanels], w_min[kPanels];
    for (std::size_t v = 0; v < kPanels; ++v) {
      w_scale[v] = _mm512_load_ps(a.w[p + v].scale + g * kBlockPanelOutputs);
      if constexpr (kHasMin) w_min[v] = _mm512_load_ps(a.w[p + v].min + g * kBlockPanelOutputs);
    }
#pragma GCC unroll 6
    for (std::size_t r = 0; r < kRows; ++r) {
      const float s = At<float>(x_scale.row(r));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        const __m512 scale = _mm512_mul_ps(w_scale[v], _mm512_set1_ps(s));
        to[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][v]), scale, to[r][v]);
      }
      if constexpr (!kHasMin) continue;
      const float offset = kGroup == 32 ? At<float>(x_offset.row(r))
                                        : s * static_cast<float>(At<std::int32_t>(x_sums.row(r)));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < kPanels; ++v) {
        to[r][v] = _mm512_fmadd_ps(w_min[v], _mm512_set1_ps(offset), to[r][v]);
      }
    }
    x.Advance(kGroup);
    x_sums.Advance(sizeof(std::int32_t));
    if (kGroup == 32 || g % 2 == 1) {
      x_scale.Advance(sizeof(float));
      x_offset.Advance(sizeof(float));
    }
    for (std::size_t v = 0; v < kPanels; ++v) q[v] += kGroup * kBlockPanelOutputs;
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

template <std::size_t kRows, std::size_t kGroup, bool kHasMin>
void Stripe(const DotBlocksArgs& a, std::size_t i) {
  const std::size_t n_panels = (a.n + kBlockPanelOutputs - 1) / kBlockPanelOutputs;
  std::size_t p = 0;
  for (; p + 2 <= n_panels; p += 2) Tile<kRows, 2, kGroup, kHasMin>(a, i, p);
  if (p < n_panels) Tile<kRows, 1, kGroup, kHasMin>(a, i, p);
}

using StripeFn = void (*)(const DotBlocksArgs&, std::size_t i);
template <std::size_t kGroup, bool kHasMin>
constexpr StripeFn kStripes[kMaxRows + 1] = {nullptr,
                                             Stripe<1, kGroup, kHasMin>,
                                             Stripe<2, kGroup, kHasMin>,
                                             Stripe<3, kGroup, kHasMin>,
                                             Stripe<4, kGroup, kHasMin>,
                                             Stripe<5, kGroup, kHasMin>,
                                             Stripe<6, kGroup, kHasMin>};

const StripeFn* StripesOf(const DotBlocksArgs& a) {
  if (a.group == 16) return a.has_min ? kStripes<16, true> : kStripes<16, false>;
  return a.has_min ? kStripes<32, true> : kStripes<32, false>;
}

}  // namespace

void DotBlocksAvx512Vnni(const DotBlocksArgs& a) {
  const std::size_t n_tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const StripeFn* stripes = StripesOf(a);
  for (std::size_t tile = 0; tile < n_tiles; ++tile) {
    // Rows are dealt out evenly: 7 are 4 and 3, not 6 and 1.
    const std::size_t begin = a.m * tile / n_tiles, end = a.m * (tile + 1) / n_tiles;
    stripes[end - begin](a, begin);
  }
}

}  // namespace lattice::kernels
