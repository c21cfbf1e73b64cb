#include <arm_neon.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 4;

// The row times its factors, four values at a time, zeros past its end.
struct Row {
  const float* x;
  const float* factor;
  std::size_t k;

  float32x4_t at(std::size_t t) const {
    if (k - t >= kLanes) return vmulq_f32(vld1q_f32(x + t), vld1q_f32(factor + t));
    float values[kLanes] = {};
    for (std::size_t i = 0; t + i < k; ++i) values[i] = x[t + i] * factor[t + i];
    return vld1q_f32(values);
  }
};

// The two greatest values, and zero if there are fewer above it.
struct Greatest {
  float first = 0, second = 0;

  void Add(float32x4_t values) {
    float lanes[kLanes];
    vst1q_f32(lanes, values);
    for (const float v : lanes) {
      const float less = v < first ? v : first;
      first = v > first ? v : first;
      second = less > second ? less : second;
    }
  }
};

struct Extremes {
  Greatest high, low;  // low of the negated row
};

Extremes ExtremesOf(const Row& row) {
  float32x4_t high[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};
  float32x4_t low[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};
  for (std::size_t t = 0; t < row.k; t += kLanes) {
    const float32x4_t v = row.at(t);
    high[1] = vmaxnmq_f32(vminnmq_f32(v, high[0]), high[1]);
    low[1] = vminnmq_f32(vmaxnmq_f32(v, low[0]), low[1]);
    high[0] = vmaxnmq_f32(v, high[0]);
    low[0] = vminnmq_f32(v, low[0]);
  }
  Extremes extremes;
  for (const float32x4_t v : high) extremes.high.Add(v);
  for (const float32x4_t v : low) extremes.low.Add(vnegq_f32(v));
  return extremes;
}

std::uint32_t Find(const Row& row, float value) {
  for (std::size_t t = 0; t < row.k; t += kLanes) {
    const uint32x4_t found = vceqq_f32(row.at(t), vdupq_n_f32(value));
    if (vmaxvq_u32(found) == 0) continue;
    std::uint32_t lanes[kLanes];
    vst1q_u32(lanes, found);
    std::uint32_t lane = 0;
    while (lanes[lane] == 0) ++lane;
    return static_cast<std::uint32_t>(t) + lane;
  }
  return 0;
}

}  // namespace

void QuantiseRowNeon(const float* x, const float* factor, std::size_t k, std::uint8_t* q,
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
  const std::int32_t offset = vcvtns_s32_f32(low * inverse);
  out->zero = offset > 0 ? offset : 0;

  // The conversion rounds to nearest even, the packing clamps to 0..255.
  const int32x4_t zero = vdupq_n_s32(out->zero);
  for (std::size_t t = 0; t < k_padded; t += 2 * kLanes) {
    int16x4_t words[2] = {vdup_n_s16(0), vdup_n_s16(0)};
    for (std::size_t h = 0; h < 2 && t + h * kLanes < k; ++h) {
      const int32x4_t steps = vcvtnq_s32_f32(vmulq_n_f32(row.at(t + h * kLanes), inverse));
      words[h] = vqmovn_s32(vaddq_s32(steps, zero));
    }
    vst1_u8(q + t, vqmovun_s16(vcombine_s16(words[0], words[1])));
  }
  for (std::size_t t = k; t < k_padded; ++t) q[t] = 0;
  q[out->outlier_at] = static_cast<std::uint8_t>(out->zero);
}

}  // namespace lattice::kernels
