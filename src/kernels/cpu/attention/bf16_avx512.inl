#pragma once

// Pairs of bf16 in slots of 32 bits, and the softmax of the rows that round to them. Included by
// ISA files only, after vec_avx512.inl.

#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kPerSlot = 2;

inline __m512i Rounded(Vec values) {
  return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(values));
}
inline Vec Pair(Vec low, Vec high) {
  return _mm512_castsi512_ps(_mm512_or_si512(Rounded(low), _mm512_slli_epi32(Rounded(high), 16)));
}

inline Vec SlotsOfTwoRows(const float* row, const float* next, std::size_t n) {
  return Pair(LoadPart(row, n, 0.0f),
              next == nullptr ? _mm512_setzero_ps() : LoadPart(next, n, 0.0f));
}

// 2^x for x <= 0, or -infinity. Minimax of degree 3, 1.0e-4 relative: a twentieth of the rounding
// to bf16 that follows.
inline Vec Probability(Vec x) {
  const Vec magic = Set1(12582912.0f + 127.0f);
  x = Max(Set1(-127.0f), x);
  const Vec shifted = Add(x, magic);
  const Vec r = Sub(x, Sub(shifted, magic));
  Vec p = Set1(0x1.c2a056p-5f);
  p = Fma(p, r, Set1(0x1.f00e6p-3f));
  p = Fma(p, r, Set1(0x1.62f60cp-1f));
  const Vec scale = ShiftBitsLeft<23>(shifted);
  return Fma(scale, Mul(p, r), scale);
}

// to[d / 2][key] = the pair from[key][d], from[key][d + 1]; zero for keys from n on.
void PackPanel(const float* from, std::size_t stride, std::size_t n, std::size_t dim, float* to) {
  for (std::size_t d = 0; d < dim; d += 16) {
    const std::size_t n_cols = dim - d < 16 ? dim - d : 16;
    __m512 r[16];
    LoadColumns(from + d, stride, n, n_cols, r);
    for (std::size_t c = 0; c < n_cols; c += 2) {
      _mm512_store_ps(to + (d + c) * 8, Pair(r[c], r[c + 1]));
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
