#include <immintrin.h>

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {
namespace {

// Six rows of x by two panels: twelve sums of a group and twelve outputs, two registers of weights,
// an input.
constexpr std::size_t kMaxRows = 6;
constexpr std::size_t kLanes = 16;
// Groups whose starts are made at a time.
constexpr std::size_t kSegment = 64;

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

// What the sums of a group begin with: less zero times the sum of x. Made for many groups at once,
// since multiplying takes the units that the products want.
template <std::size_t kRows>
struct Starts {
  alignas(64) std::int32_t values[kRows][kSegment];

  void Set(const Rows<std::int32_t>& x_sums, std::int32_t zero, std::size_t n_groups) {
    const __m512i less_zero = _mm512_set1_epi32(-zero);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t g = 0; g < kSegment && g < n_groups; g += kLanes) {
        const std::size_t n = n_groups - g < kLanes ? n_groups - g : kLanes;
        const auto exists = static_cast<__mmask16>((1u << n) - 1u);
        const __m512i sums =
            _mm512_maskz_loadu_epi32(exists, x_sums.row(r) + g * sizeof(std::int32_t));
        _mm512_store_si512(values[r] + g, _mm512_mullo_epi32(sums, less_zero));
      }
    }
  }
};

// Sums of the products of group `half` of a block, upon what they begin with.
template <std::size_t kRows, std::size_t kPanels, std::size_t kGroup>
inline void AddGroup(const Rows<std::int8_t>& x, const Starts<kRows>& starts, std::size_t g,
                     const std::uint8_t* const (&q)[kPanels], std::size_t half,
                     __m512i (&sum)[kRows][kPanels]) {
#pragma GCC unroll 6
  for (std::size_t r = 0; r < kRows; ++r) {
    const __m512i start = _mm512_set1_epi32(starts.values[r][g]);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kPanels; ++v) sum[r][v] = start;
  }
#pragma GCC unroll 8
  for (std::size_t t = half * kGroup; t < (half + 1) * kGroup; t += 4) {
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

// The outputs that exist.
template <std::size_t kRows, std::size_t kPanels>
inline void Store(const DotBlocksArgs& a, std::size_t i, std::size_t p,
                  const __m512 (&y)[kRows][kPanels]) {
  for (std::size_t v = 0; v < kPanels; ++v) {
    const std::size_t first = (p + v) * kBlockPanelOutputs;
    const std::size_t n = a.n - first < kBlockPanelOutputs ? a.n - first : kBlockPanelOutputs;
    const auto exists = static_cast<__mmask16>((1u << n) - 1u);
    for (std::size_t r = 0; r < kRows; ++r) {
      _mm512_mask_storeu_ps(a.y + (i + r) * a.y_stride + first, exists, y[r][v]);
    }
  }
}

// Panels p to p + kPanels of the rows from i on.
template <std::size_t kRows, std::size_t kPanels, std::size_t kGroup, bool kHasMin>
void Tile(const DotBlocksArgs& a, std::size_t i, std::size_t p) {
  __m512 y[kRows][kPanels];
  for (auto& row : y) {
    for (__m512& v : row) v = _mm512_setzero_ps();
  }
  constexpr std::size_t kSumsOfBlock = kInputBlock / kGroup;
  const std::size_t n_blocks = a.x.n_blocks;
  Rows<std::int8_t> x(a.x.q + i * a.x.q_stride, a.x.q_stride);
  Rows<float> x_scale(a.x.scale + i * n_blocks, n_blocks);
  Rows<float> x_offset(a.x.offset + i * n_blocks, n_blocks);
  Rows<std::int32_t> x_sums((kGroup == 16 ? a.x.half_sums : a.x.sums) + kSumsOfBlock * i * n_blocks,
                            kSumsOfBlock * n_blocks);
  const std::uint8_t* q[kPanels];
  const float *w_scale[kPanels], *w_min[kPanels];
  for (std::size_t v = 0; v < kPanels; ++v) {
    q[v] = a.w[p + v].q;
    w_scale[v] = a.w[p + v].scale;
    w_min[v] = a.w[p + v].min;
  }
  Starts<kRows> starts;
  const std::size_t n_groups = a.k / kGroup;
  for (std::size_t g = 0; g < n_groups; g += kSumsOfBlock) {
    if (g % kSegment == 0) starts.Set(x_sums, a.zero, n_groups - g);
#pragma GCC unroll 2
    for (std::size_t h = 0; h < kSumsOfBlock; ++h) {
      __m512i sum[kRows][kPanels];
      AddGroup<kRows, kPanels, kGroup>(x, starts, g % kSegment + h, q, h, sum);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
        const float s = At<float>(x_scale.row(r));
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kPanels; ++v) {
          const __m512 scale =
              _mm512_mul_ps(_mm512_load_ps(w_scale[v] + h * kBlockPanelOutputs), _mm512_set1_ps(s));
          y[r][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][v]), scale, y[r][v]);
        }
        if constexpr (!kHasMin) continue;
        const float offset = kGroup == 32 ? At<float>(x_offset.row(r))
                                          : s * static_cast<float>(At<std::int32_t>(
                                                    x_sums.row(r) + h * sizeof(std::int32_t)));
#pragma GCC unroll 2
        for (std::size_t v = 0; v < kPanels; ++v) {
          y[r][v] = _mm512_fmadd_ps(_mm512_load_ps(w_min[v] + h * kBlockPanelOutputs),
                                    _mm512_set1_ps(offset), y[r][v]);
        }
      }
    }
    x.Advance(kInputBlock);
    x_sums.Advance(kSumsOfBlock * sizeof(std::int32_t));
    x_scale.Advance(sizeof(float));
    x_offset.Advance(sizeof(float));
    for (std::size_t v = 0; v < kPanels; ++v) {
      q[v] += kInputBlock * kBlockPanelOutputs;
      w_scale[v] += kSumsOfBlock * kBlockPanelOutputs;
      if constexpr (kHasMin) w_min[v] += kSumsOfBlock * kBlockPanelOutputs;
    }
  }
  Store<kRows, kPanels>(a, i, p, y);
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
