#include <immintrin.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

__mmask16 Rest(std::size_t n) { return static_cast<__mmask16>((1u << n) - 1u); }

float LeastOf(__m512 v) {
  __m256 h = _mm256_min_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 q = _mm_min_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_min_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_min_ss(q, _mm_movehdup_ps(q)));
}

float GreatestOf(__m512 v) {
  __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// Sixteen values as bytes: the conversion rounds to nearest even, the packing clamps to 0..255.
__m128i Bytes(__m512 x, __m512 inverse, __m512i zero) {
  const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(x, inverse)), zero);
  return _mm512_cvtusepi32_epi8(_mm512_max_epi32(q, _mm512_setzero_si512()));
}

}  // namespace

void QuantiseRowAvx512(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                       float* scale, float* zero) {
  __m512 low[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  __m512 high[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  std::size_t t = 0;
  for (; t + 2 * kLanes <= k; t += 2 * kLanes) {
    for (std::size_t v = 0; v < 2; ++v) {
      const __m512 values = _mm512_loadu_ps(x + t + v * kLanes);
      low[v] = _mm512_min_ps(values, low[v]);
      high[v] = _mm512_max_ps(values, high[v]);
    }
  }
  for (; t < k; t += kLanes) {
    const __m512 values = _mm512_maskz_loadu_ps(Rest(k - t < kLanes ? k - t : kLanes), x + t);
    low[0] = _mm512_min_ps(values, low[0]);
    high[0] = _mm512_max_ps(values, high[0]);
  }
  const float least = LeastOf(_mm512_min_ps(low[0], low[1]));
  const float range = GreatestOf(_mm512_max_ps(high[0], high[1])) - least;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  *scale = zeros ? 0.0f : range / 255.0f;
  const int offset = _mm_cvtss_si32(_mm_set_ss(-least * inverse));
  const int moved = offset > 0 ? offset : 0;
  *zero = static_cast<float>(moved);

  const __m512 by = _mm512_set1_ps(inverse);
  const __m512i add = _mm512_set1_epi32(moved);
  t = 0;
  for (; t + kLanes <= k; t += kLanes) {
    _mm_store_si128(reinterpret_cast<__m128i*>(q + t), Bytes(_mm512_loadu_ps(x + t), by, add));
  }
  if (t < k) {
    const __mmask16 rest = Rest(k - t);
    const __m128i bytes = Bytes(_mm512_maskz_loadu_ps(rest, x + t), by, add);
    _mm_store_si128(reinterpret_cast<__m128i*>(q + t), _mm_maskz_mov_epi8(rest, bytes));
    t += kLanes;
  }
  for (; t < k_padded; t += kLanes) {
    _mm_store_si128(reinterpret_cast<__m128i*>(q + t), _mm_setzero_si128());
  }
}

}  // namespace lattice::kernels
