#include <immintrin.h>

#include "vectors/dot/variants.h"

namespace lattice::vectors {
namespace {

using Vec = __m512;
constexpr std::size_t kWidth = 16;
constexpr std::size_t GroupFor(std::size_t) { return 4; }

inline Vec Zero() { return _mm512_setzero_ps(); }
inline Vec Splat(float x) { return _mm512_set1_ps(x); }
inline Vec Load(const float* p) {
  Vec x = _mm512_loadu_ps(p);
  asm("" : "+v"(x));  // Or g++ loads it again for each use; loads are what these loops wait for.
  return x;
}
inline Vec LoadPartial(const float* p, std::size_t left) {
  const auto lanes = left < kWidth ? static_cast<__mmask16>((1u << left) - 1) : __mmask16{0xFFFF};
  return _mm512_maskz_loadu_ps(lanes, p);
}
inline void Store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
inline Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec Div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline float FoldLanes(Vec v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#include "vectors/dot/cosine.inl"
// CosineOfSafeSums comes first.
#include "vectors/dot/body.inl"

}  // namespace

const DotFns kDotAvx512 = {Dot, SquaredDistance, DotAndNorm, DotAndNorms, Cosine, DotTile, Divide};

}  // namespace lattice::vectors
