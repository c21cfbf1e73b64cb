// See vec_scalar.inl: one 512-bit register.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

using Vec = __m512;
using Mask = __mmask16;

inline Vec Set1(float x) { return _mm512_set1_ps(x); }
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline Mask FirstLanes(std::size_t n) { return static_cast<Mask>((1u << n) - 1u); }
inline Vec LoadPart(const float* p, std::size_t n, float fill) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), FirstLanes(n), p);
}
inline void Store(float* p, Vec a) { _mm512_storeu_ps(p, a); }
inline void StorePart(float* p, Vec a, std::size_t n) {
  _mm512_mask_storeu_ps(p, FirstLanes(n), a);
}

inline Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec Mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec Div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec NegFma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
inline Vec Max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec Min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec Abs(Vec a) { return _mm512_abs_ps(a); }
inline Vec CopySign(Vec a, Vec b) {
  const Vec sign = _mm512_set1_ps(-0.0f);
  return _mm512_or_ps(_mm512_andnot_ps(sign, a), _mm512_and_ps(sign, b));
}
inline Mask Less(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline Vec Select(Mask m, Vec yes, Vec no) { return _mm512_mask_blend_ps(m, no, yes); }
template <int kBits>
inline Vec ShiftBitsLeft(Vec a) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a), kBits));
}
using Index = __m512i;
inline Index Bits21To24(Vec a) { return _mm512_srli_epi32(_mm512_castps_si512(a), 21); }
// Looks at the low four bits of each index.
inline Vec LookUp(const float (&table)[16], Index i) {
  return _mm512_permutexvar_ps(i, _mm512_loadu_ps(table));
}

inline float ReduceAdd(Vec a) {
  const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
inline float ReduceMax(Vec a) {
  const __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

inline float Sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

}  // namespace
}  // namespace lattice::kernels
