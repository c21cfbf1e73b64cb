#include <arm_neon.h>

#include "kernels/cpu/quantise_rows/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 8;

struct Eight {
  float32x4_t a, b;
};

Eight Load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }

// The first n values of p, then zeros.
Eight LoadPart(const float* p, std::size_t n) {
  float values[kLanes] = {};
  for (std::size_t i = 0; i < n; ++i) values[i] = p[i];
  return Load(values);
}

// Eight values as bytes: the conversion rounds to nearest even, the packing clamps to 0..255.
uint8x8_t Bytes(Eight x, float inverse, int32x4_t zero) {
  const int32x4_t a = vaddq_s32(vcvtnq_s32_f32(vmulq_n_f32(x.a, inverse)), zero);
  const int32x4_t b = vaddq_s32(vcvtnq_s32_f32(vmulq_n_f32(x.b, inverse)), zero);
  return vqmovun_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)));
}

}  // namespace

void QuantiseRowNeon(const float* x, std::size_t k, std::uint8_t* q, std::size_t k_padded,
                     float* scale, float* zero) {
  float32x4_t low = vdupq_n_f32(0), high = vdupq_n_f32(0);
  const std::size_t whole = k / kLanes * kLanes;
  const Eight last = LoadPart(x + whole, k - whole);
  for (std::size_t t = 0; t <= whole; t += kLanes) {
    const Eight v = t < whole ? Load(x + t) : last;
    low = vminnmq_f32(low, vminnmq_f32(v.a, v.b));
    high = vmaxnmq_f32(high, vmaxnmq_f32(v.a, v.b));
  }
  const float least = vminnmvq_f32(low);
  const float range = vmaxnmvq_f32(high) - least;
  const bool zeros = range < kQuantiseLeastRange;
  const float inverse = zeros ? 0.0f : 255.0f / range;
  *scale = zeros ? 0.0f : range / 255.0f;
  const std::int32_t offset = vcvtns_s32_f32(-least * inverse);
  const std::int32_t moved = offset > 0 ? offset : 0;
  *zero = static_cast<float>(moved);

  const int32x4_t add = vdupq_n_s32(moved);
  for (std::size_t t = 0; t < whole; t += kLanes) vst1_u8(q + t, Bytes(Load(x + t), inverse, add));
  for (std::size_t t = whole; t < k_padded; ++t) q[t] = 0;
  std::uint8_t bytes[kLanes];
  vst1_u8(bytes, Bytes(last, inverse, add));
  for (std::size_t t = whole; t < k; ++t) q[t] = bytes[t - whole];
}

}  // namespace lattice::kernels
