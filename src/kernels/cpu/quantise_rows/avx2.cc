#include <immintrin.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 8;

// The row times its factors, eight values at a time, zeros past its end.
struct Row {
  const float* x;
  const float* factor;
  std::size_t k;

  __m256 at(std::size_t t) const {
    if (k - t >= kLanes) return _mm256_mul_ps(_mm256_loadu_ps(x + t), _mm256_loadu_ps(factor + t));
    alignas(32) float values[kLanes] = {};
    for (std::size_t i = 0; t + i < k; ++i) values[i] = x[t + i] * factor[t + i];
    return _mm256_load_ps(values);
  }
};

float GreatestOf(__m256 v) {
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// The two greatest values, and zero if there are fewer above it.
struct Greatest {
  float first, second;
};

// Of lanes that hold their own two greatest.
Greatest GreatestOf(__m256 first, __m256 second) {
  const float most = GreatestOf(first);
  const __m256 holds = _mm256_cmp_ps(first, _mm256_set1_ps(most), _CMP_EQ_OQ);
  const int lanes = _mm256_movemask_ps(holds);
  if ((lanes & (lanes - 1)) != 0) return {most, most};
  return {most, GreatestOf(_mm256_blendv_ps(first, second, holds))};
}

struct Extremes {
  Greatest high, low;  // low of the negated row
};

Extremes ExtremesOf(const Row& row) {
  __m256 high[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256 low[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t t = 0; t < row.k; t += kLanes) {
    const __m256 v = row.at(t);
    high[1] = _mm256_max_ps(_mm256_min_ps(v, high[0]), high[1]);
    low[1] = _mm256_min_ps(_mm256_max_ps(v, low[0]), low[1]);
    high[0] = _mm256_max_ps(v, high[0]);
    low[0] = _mm256_min_ps(v, low[0]);
  }
  const __m256 none = _mm256_setzero_ps();
  return {GreatestOf(high[0], high[1]),
          GreatestOf(_mm256_sub_ps(none, low[0]), _mm256_sub_ps(none, low[1]))};
}

std::uint32_t Find(const Row& row, float value) {
  const __m256 wanted = _mm256_set1_ps(value);
  for (std::size_t t = 0; t < row.k; t += kLanes) {
    const int found = _mm256_movemask_ps(_mm256_cmp_ps(row.at(t), wanted, _CMP_EQ_OQ));
    if (found != 0) {
      return static_cast<std::uint32_t>(t) +
             static_cast<std::uint32_t>(__builtin_ctz(static_cast<unsigned>(found)));
    }
  }
  return 0;
}

}  // namespace

void QuantiseRowAvx2(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
                     std::size_t k_padded, Int8Row* out) {
  const Row row = {x, factor, k};
  const Extremes extremes = ExtremesOf(row);
  const bool positive = extremes.high.first >= extremes.low.first;
  out->outlier = positive ? extremes.high.first : -extremes.low.first;
  out->outlier_at = out->outlier == 0 ? 0 : Find(row, out->outlier);
  const float low = positive ? extremes.low.first : extremes.low.second;
  const float range = (positive ? extremes.high.second : extremes.high.first) + low;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  out->scale = zeros ? 0.0f : range / 255.0f;
  const int offset = _mm_cvtss_si32(_mm_set_ss(low * inverse));
  out->zero = offset > 0 ? offset : 0;

  // The conversion rounds to nearest even, the packing clamps to 0..255.
  const __m256 by = _mm256_set1_ps(inverse);
  const __m256i zero = _mm256_set1_epi32(out->zero);
  for (std::size_t t = 0; t < k; t += kLanes) {
    const __m256i value = _mm256_add_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(row.at(t), by)), zero);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(q + t), _mm_packus_epi16(words, words));
  }
  for (std::size_t t = k; t < k_padded; ++t) q[t] = 0;
  q[out->outlier_at] = static_cast<std::uint8_t>(out->zero);
}

}  // namespace lattice::kernels
