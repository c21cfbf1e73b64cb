#include <immintrin.h>

#include "vectors/dot/variants.h"

namespace lattice::vectors {
namespace {

using Vec = __m256;
constexpr std::size_t kWidth = 8;
// 16 registers: 8 or 12 sums, two operands, the difference.
constexpr std::size_t GroupFor(std::size_t n_results) { return n_results == 1 ? 8 : 4; }

inline Vec Zero() { return _mm256_setzero_ps(); }
inline Vec Splat(float x) { return _mm256_set1_ps(x); }
inline Vec Load(const float* p) {
  Vec x = _mm256_loadu_ps(p);
  asm("" : "+x"(x));  // Or g++ loads it again for each use; loads are what these loops wait for.
  return x;
}
inline Vec LoadPartial(const float* p, std::size_t left) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int n = left < kWidth ? static_cast<int>(left) : 8;
  return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes));
}
inline void Store(float* p, Vec x) { _mm256_storeu_ps(p, x); }
inline Vec Add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec Div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline float FoldLanes(Vec v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#include "vectors/dot/cosine.inl"
// CosineOfSafeSums comes first.
#include "vectors/dot/body.inl"

}  // namespace

const DotFns kDotAvx2 = {Dot, SquaredDistance, DotAndNorm, DotAndNorms, Cosine, DotTile, Divide};

}  // namespace lattice::vectors
