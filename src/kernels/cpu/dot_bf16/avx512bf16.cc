#include <immintrin.h>

#include "kernels/cpu/dot_bf16/variants.h"

namespace lattice::kernels {
namespace {

// Six rows of x by four of weights: 24 sums of sixteen lanes, four weights, an input.
constexpr int kXRows = 6, kWRows = 4;
constexpr std::size_t kStep = 32;  // inputs of one register

[[gnu::always_inline]] inline __m512 AddProducts(__m512 sum, __m512i inputs, __m512i weights) {
  return _mm512_dpbf16_ps(sum, (__m512bh)inputs, (__m512bh)weights);
}

// Halves of the lanes are added until one is left.
inline float SumLanes(__m512 a) {
  const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

// Lower halves of both beside each other, plus upper halves.
inline __m512 Halve(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}

template <int kN>
inline void StoreSums(const __m512 (&sum)[kN], float* y) {
  if constexpr (kN == 4) {  // The same tree, four side by side.
    const __m512 ab = Halve(sum[0], sum[1]), cd = Halve(sum[2], sum[3]);
    __m512 s =
        _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xEE));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0x55));
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(y, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, s)));
  } else {
    for (int c = 0; c < kN; ++c) y[c] = SumLanes(sum[c]);
  }
}

// How many rows further on to fetch while one is read: a page or more.
inline std::size_t RowsAhead(std::size_t row_bytes) {
  constexpr std::size_t kAheadBytes = 4096;
  const std::size_t rows = kAheadBytes / (row_bytes + 1) + 1;
  return rows < kDotBf16RowsAhead ? rows : kDotBf16RowsAhead;
}

// kX rows of x from i by kW rows of weights from j.
template <int kX, int kW>
void Tile(const DotBf16Args& a, std::size_t i, std::size_t j) {
  __m512 sum[kX][kW];
  for (auto& row : sum) {
    for (__m512& s : row) s = _mm512_setzero_ps();
  }
  const std::uint16_t* x = a.x + (a.x_row + i) * a.x_stride;
  const std::byte* w[kW];
#pragma GCC unroll 8
  for (std::size_t c = 0; c < kW; ++c) w[c] = a.w[j + c];
  const std::byte* const ahead = a.w[j + RowsAhead(2 * a.k)];
  const auto step = [&](std::size_t t, const __m512i(&weights)[kW]) {
#pragma GCC unroll 8
    for (int r = 0; r < kX; ++r) {
      const __m512i input = _mm512_load_si512(x + static_cast<std::size_t>(r) * a.x_stride + t);
#pragma GCC unroll 8
      for (int c = 0; c < kW; ++c) sum[r][c] = AddProducts(sum[r][c], input, weights[c]);
    }
  };
  std::size_t t = 0;
  for (; t + kStep <= a.k; t += kStep) {
    __m512i weights[kW];
#pragma GCC unroll 8
    for (int c = 0; c < kW; ++c) {
      const std::byte* at = w[c] + 2 * t;
      if constexpr (kX == 1) {
        _mm_prefetch(reinterpret_cast<const char*>(ahead + 2 * t), _MM_HINT_T1);
      }
      weights[c] = _mm512_loadu_si512(at);
    }
    step(t, weights);
  }
  if (t < a.k) {  // Inputs past k are zeros.
    const auto exists = static_cast<__mmask32>((std::uint64_t{1} << (a.k - t)) - 1);
    __m512i weights[kW];
#pragma GCC unroll 8
    for (int c = 0; c < kW; ++c) weights[c] = _mm512_maskz_loadu_epi16(exists, w[c] + 2 * t);
    step(t, weights);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kX; ++r) {
    StoreSums<kW>(sum[r], a.y + (i + static_cast<std::size_t>(r)) * a.y_stride + j);
  }
}

// kX rows of x from i by all weights. For one row these come from memory, which is read fastest as
// a single stream, and not from several rows at a time.
template <int kX>
void Stripe(const DotBf16Args& a, std::size_t i) {
  std::size_t j = 0;
  if constexpr (kX > 1) {
    for (; j + kWRows <= a.n; j += kWRows) Tile<kX, kWRows>(a, i, j);
  }
  for (; j < a.n; ++j) Tile<kX, 1>(a, i, j);
}

using StripeFn = void (*)(const DotBf16Args&, std::size_t i);
constexpr StripeFn kStripes[kXRows + 1] = {nullptr,   Stripe<1>, Stripe<2>, Stripe<3>,
                                           Stripe<4>, Stripe<5>, Stripe<6>};

}  // namespace
}  // namespace lattice::kernels

// After it: what it defines is used there.
#include "kernels/cpu/dot_bf16/lanes_avx512.inl"

namespace lattice::kernels {

const DotBf16ManyFns kDotBf16ManyAvx512 = {24, true, PackLanes, RunLanes};

void DotBf16Avx512Bf16(const DotBf16Args& a) {
  for (std::size_t i = 0; i < a.m; i += kXRows) {
    const std::size_t n = a.m - i < kXRows ? a.m - i : kXRows;
    kStripes[n](a, i);
  }
}

}  // namespace lattice::kernels
