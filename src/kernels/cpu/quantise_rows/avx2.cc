#include <immintrin.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 8;

// The first n values of p, then zeros.
__m256 LoadPart(const float* p, std::size_t n) {
  alignas(32) float values[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) values[i] = p[i];
  return _mm256_load_ps(values);
}

float LeastOf(__m256 v) {
  __m128 q = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  q = _mm_min_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_min_ss(q, _mm_movehdup_ps(q)));
}

float GreatestOf(__m256 v) {
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// Eight values as bytes: the conversion rounds to nearest even, the packing clamps to 0..255.
__m128i Bytes(__m256 x, __m256 inverse, __m256i zero) {
  const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(x, inverse)), zero);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  return _mm_packus_epi16(words, words);
}

}  // namespace

void QuantiseRowAvx2(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                     float* scale, float* zero) {
  __m256 low = _mm256_setzero_ps(), high = _mm256_setzero_ps();
  const std::size_t whole = k / kLanes * kLanes;
  for (std::size_t t = 0; t < whole; t += kLanes) {
    const __m256 values = _mm256_loadu_ps(x + t);
    low = _mm256_min_ps(values, low);
    high = _mm256_max_ps(values, high);
  }
  const __m256 last = LoadPart(x + whole, k - whole);
  const float least = LeastOf(_mm256_min_ps(last, low));
  const float range = GreatestOf(_mm256_max_ps(last, high)) - least;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  *scale = zeros ? 0.0f : range / 255.0f;
  const int offset = _mm_cvtss_si32(_mm_set_ss(-least * inverse));
  const int moved = offset > 0 ? offset : 0;
  *zero = static_cast<float>(moved);

  const __m256 by = _mm256_set1_ps(inverse);
  const __m256i add = _mm256_set1_epi32(moved);
  for (std::size_t t = 0; t < whole; t += kLanes) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(q + t), Bytes(_mm256_loadu_ps(x + t), by, add));
  }
  for (std::size_t t = whole; t < k_padded; ++t) q[t] = 0;
  alignas(16) std::uint8_t bytes[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), Bytes(last, by, add));
  for (std::size_t t = whole; t < k; ++t) q[t] = bytes[t - whole];
}

}  // namespace lattice::kernels
