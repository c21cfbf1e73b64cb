#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/dot_f32/variants.h"

namespace lattice::kernels {
namespace {

// 24 sums, four weights, an input.
constexpr int kXRows = 6, kWRows = 4;

template <FloatRow kKind>
inline Vec LoadRow(const std::byte* p) {
  if constexpr (kKind == FloatRow::kF32) return _mm512_loadu_ps(p);
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (kKind == FloatRow::kF16) return _mm512_cvtph_ps(halves);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

inline void PrefetchRow(const std::byte* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
}

// Four sums at a time: the tree of ReduceAdd, with the four side by side from the start.
template <int kN>
inline void StoreSums(const Vec (&sum)[kN], float* y) {
  if constexpr (kN == 4) {
    const auto halve = [](__m512 a, __m512 b) {
      // Lower halves of both beside each other, plus upper halves.
      return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    };
    const __m512 ab = halve(sum[0], sum[1]), cd = halve(sum[2], sum[3]);
    __m512 s =
        _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0xEE));
    s = _mm512_add_ps(s, _mm512_permute_ps(s, 0x55));
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(y, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, s)));
  } else {
    for (int c = 0; c < kN; ++c) y[c] = ReduceAdd(sum[c]);
  }
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_f32/body.inl"

namespace lattice::kernels {

void DotF32Avx512(const DotF32Args& args) { DotF32(args); }
void WidenRowAvx512(FloatRow kind, const std::byte* row, std::size_t k, float* out) {
  WidenRow(kind, row, k, out);
}

}  // namespace lattice::kernels
