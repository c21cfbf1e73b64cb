// See vec_scalar.inl: two 256-bit registers.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

struct Vec {
  __m256 lo, hi;
};
using Mask = Vec;

inline Vec Set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vec Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline __m256i FirstLanes(std::size_t n, int from) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n) - from), lane);
}
inline Vec LoadPart(const float* p, std::size_t n, float fill) {
  const __m256i lo = FirstLanes(n, 0), hi = FirstLanes(n, 8);
  const __m256 other = _mm256_set1_ps(fill);
  return {_mm256_blendv_ps(other, _mm256_maskload_ps(p, lo), _mm256_castsi256_ps(lo)),
          _mm256_blendv_ps(other, _mm256_maskload_ps(p + 8, hi), _mm256_castsi256_ps(hi))};
}
inline void Store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline void StorePart(float* p, Vec a, std::size_t n) {
  _mm256_maskstore_ps(p, FirstLanes(n, 0), a.lo);
  _mm256_maskstore_ps(p + 8, FirstLanes(n, 8), a.hi);
}

inline Vec Add(Vec a, Vec b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Vec Sub(Vec a, Vec b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Vec Mul(Vec a, Vec b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Vec Div(Vec a, Vec b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline Vec Fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec NegFma(Vec a, Vec b, Vec c) {
  return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec Max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Vec Min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Vec Abs(Vec a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
inline Vec CopySign(Vec a, Vec b) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const Vec size = Abs(a);
  return {_mm256_or_ps(size.lo, _mm256_and_ps(sign, b.lo)),
          _mm256_or_ps(size.hi, _mm256_and_ps(sign, b.hi))};
}
inline Mask Less(Vec a, Vec b) {
  return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
inline Vec Select(Mask m, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}
template <int kBits>
inline Vec ShiftBitsLeft(Vec a) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.lo), kBits)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.hi), kBits))};
}
struct Index {
  __m256i lo, hi;  // Bit 3 of the index is in bit 31 too.
};
inline __m256i IndexOf(__m256 a) {
  const __m256i i = _mm256_srli_epi32(_mm256_castps_si256(a), 21);
  return _mm256_or_si256(i, _mm256_slli_epi32(i, 28));
}
inline Index Bits21To24(Vec a) { return {IndexOf(a.lo), IndexOf(a.hi)}; }
inline Vec LookUp(const float (&table)[16], Index i) {
  const __m256 first = _mm256_loadu_ps(table), second = _mm256_loadu_ps(table + 8);
  return {_mm256_blendv_ps(_mm256_permutevar8x32_ps(first, i.lo),
                           _mm256_permutevar8x32_ps(second, i.lo), _mm256_castsi256_ps(i.lo)),
          _mm256_blendv_ps(_mm256_permutevar8x32_ps(first, i.hi),
                           _mm256_permutevar8x32_ps(second, i.hi), _mm256_castsi256_ps(i.hi))};
}

inline float ReduceAdd(Vec a) {
  const __m256 b = _mm256_add_ps(a.lo, a.hi);
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}
inline float ReduceMax(Vec a) {
  const __m256 b = _mm256_max_ps(a.lo, a.hi);
  __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  c = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

inline float Sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

}  // namespace
}  // namespace lattice::kernels
