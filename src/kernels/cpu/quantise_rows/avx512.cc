#include <immintrin.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

// The row times its factors, sixteen values at a time, zeros past its end.
struct Row {
  const float* x;
  const float* factor;
  std::size_t k;

  __m512 whole(std::size_t t) const {
    return _mm512_mul_ps(_mm512_loadu_ps(x + t), _mm512_loadu_ps(factor + t));
  }
  __m512 at(std::size_t t) const {
    if (k - t >= kLanes) return whole(t);
    const auto rest = static_cast<__mmask16>((1u << (k - t)) - 1u);
    return _mm512_mul_ps(_mm512_maskz_loadu_ps(rest, x + t),
                         _mm512_maskz_loadu_ps(rest, factor + t));
  }
};

float GreatestOf(__m512 v) {
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

// The two greatest values, and zero if there are fewer above it.
struct Greatest {
  float first, second;
};

// Of lanes that hold their own two greatest.
Greatest GreatestOf(__m512 first, __m512 second) {
  const float most = GreatestOf(first);
  const __mmask16 holds = _mm512_cmp_ps_mask(first, _mm512_set1_ps(most), _CMP_EQ_OQ);
  if ((holds & (holds - 1)) != 0) return {most, most};
  return {most, GreatestOf(_mm512_mask_blend_ps(holds, first, second))};
}

struct Extremes {
  Greatest high, low;  // low of the negated row
};

// The two greatest of each lane, so far.
struct Lanes {
  __m512 first, second;
};

void Add(__m512 v, Lanes& high, Lanes& low) {
  high.second = _mm512_max_ps(_mm512_min_ps(v, high.first), high.second);
  low.second = _mm512_min_ps(_mm512_max_ps(v, low.first), low.second);
  high.first = _mm512_max_ps(v, high.first);
  low.first = _mm512_min_ps(v, low.first);
}

Extremes ExtremesOf(const Row& row) {
  // Two sets, so that each extreme waits for half of the row only.
  const __m512 none = _mm512_setzero_ps();
  Lanes high[2] = {{none, none}, {none, none}}, low[2] = {{none, none}, {none, none}};
  std::size_t t = 0;
  for (; t + 2 * kLanes <= row.k; t += 2 * kLanes) {
    Add(row.whole(t), high[0], low[0]);
    Add(row.whole(t + kLanes), high[1], low[1]);
  }
  for (; t < row.k; t += kLanes) Add(row.at(t), high[0], low[0]);
  const auto most = [](__m512 a, __m512 b) { return _mm512_max_ps(a, b); };
  const auto least = [](__m512 a, __m512 b) { return _mm512_min_ps(a, b); };
  const __m512 high_second =
      most(least(high[0].first, high[1].first), most(high[0].second, high[1].second));
  const __m512 low_second =
      least(most(low[0].first, low[1].first), least(low[0].second, low[1].second));
  return {GreatestOf(most(high[0].first, high[1].first), high_second),
          GreatestOf(_mm512_sub_ps(none, least(low[0].first, low[1].first)),
                     _mm512_sub_ps(none, low_second))};
}

std::uint32_t Find(const Row& row, float value) {
  const __m512 wanted = _mm512_set1_ps(value);
  for (std::size_t t = 0; t < row.k; t += kLanes) {
    const __mmask16 found = _mm512_cmp_ps_mask(row.at(t), wanted, _CMP_EQ_OQ);
    if (found != 0)
      return static_cast<std::uint32_t>(t) + static_cast<std::uint32_t>(__builtin_ctz(found));
  }
  return 0;
}

}  // namespace

void QuantiseRowAvx512(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
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
  const __m512 by = _mm512_set1_ps(inverse);
  const __m512i zero = _mm512_set1_epi32(out->zero);
  const auto steps = [&](__m512 v) {
    return _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(v, by)), zero);
  };
  // Packing works within quarters of a register: their order is put right at the end.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  std::size_t t = 0;
  for (; t + 4 * kLanes <= k; t += 4 * kLanes) {
    const __m512i first = _mm512_packs_epi32(steps(row.whole(t)), steps(row.whole(t + kLanes)));
    const __m512i second =
        _mm512_packs_epi32(steps(row.whole(t + 2 * kLanes)), steps(row.whole(t + 3 * kLanes)));
    const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(first, second));
    _mm512_store_si512(q + t, bytes);
  }
  for (; t < k; t += kLanes) {
    const __m512i value = _mm512_max_epi32(steps(row.at(t)), _mm512_setzero_si512());
    _mm_store_si128(reinterpret_cast<__m128i*>(q + t), _mm512_cvtusepi32_epi8(value));
  }
  for (std::size_t i = k; i < t; ++i) q[i] = 0;
  for (; t < k_padded; t += kLanes) {
    _mm_store_si128(reinterpret_cast<__m128i*>(q + t), _mm_setzero_si128());
  }
  q[out->outlier_at] = static_cast<std::uint8_t>(out->zero);
}

}  // namespace lattice::kernels
