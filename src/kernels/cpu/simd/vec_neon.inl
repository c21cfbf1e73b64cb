// See vec_scalar.inl: four 128-bit registers.

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

constexpr std::size_t kLanes = 16;

struct Vec {
  float32x4_t part[4];
};
struct Mask {
  uint32x4_t part[4];
};

template <typename F>
inline Vec Map(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}

inline Vec Set1(float x) {
  return Map([x](int) { return vdupq_n_f32(x); });
}
inline Vec Load(const float* p) {
  return Map([p](int i) { return vld1q_f32(p + 4 * i); });
}
inline Vec LoadPart(const float* p, std::size_t n, float fill) {
  float lane[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lane[i] = i < n ? p[i] : fill;
  return Load(lane);
}
inline void Store(float* p, Vec a) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, a.part[i]);
}
inline void StorePart(float* p, Vec a, std::size_t n) {
  float lane[kLanes];
  Store(lane, a);
  for (std::size_t i = 0; i < n; ++i) p[i] = lane[i];
}

inline Vec Add(Vec a, Vec b) {
  return Map([&](int i) { return vaddq_f32(a.part[i], b.part[i]); });
}
inline Vec Sub(Vec a, Vec b) {
  return Map([&](int i) { return vsubq_f32(a.part[i], b.part[i]); });
}
inline Vec Mul(Vec a, Vec b) {
  return Map([&](int i) { return vmulq_f32(a.part[i], b.part[i]); });
}
inline Vec Div(Vec a, Vec b) {
  return Map([&](int i) { return vdivq_f32(a.part[i], b.part[i]); });
}
inline Vec Fma(Vec a, Vec b, Vec c) {
  return Map([&](int i) { return vfmaq_f32(c.part[i], a.part[i], b.part[i]); });
}
inline Vec NegFma(Vec a, Vec b, Vec c) {
  return Map([&](int i) { return vfmsq_f32(c.part[i], a.part[i], b.part[i]); });
}
inline Mask Less(Vec a, Vec b) {
  Mask m;
  for (int i = 0; i < 4; ++i) m.part[i] = vcltq_f32(a.part[i], b.part[i]);
  return m;
}
inline Vec Select(Mask m, Vec yes, Vec no) {
  return Map([&](int i) { return vbslq_f32(m.part[i], yes.part[i], no.part[i]); });
}
// Not vmaxq: see the rule for NaN.
inline Vec Max(Vec a, Vec b) { return Select(Less(b, a), a, b); }
inline Vec Min(Vec a, Vec b) { return Select(Less(a, b), a, b); }
inline Vec Abs(Vec a) {
  return Map([&](int i) { return vabsq_f32(a.part[i]); });
}
inline Vec CopySign(Vec a, Vec b) {
  const uint32x4_t sign = vdupq_n_u32(0x80000000u);
  return Map([&](int i) { return vbslq_f32(sign, b.part[i], a.part[i]); });
}
template <int kBits>
inline Vec ShiftBitsLeft(Vec a) {
  return Map([&](int i) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a.part[i]), kBits));
  });
}
struct Index {
  uint8x16_t part[4];  // Offsets of the bytes of each lane's entry.
};
inline Index Bits21To24(Vec a) {
  Index r;
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t bits = vshrq_n_u32(vreinterpretq_u32_f32(a.part[i]), 21);
    const uint32x4_t entry = vandq_u32(bits, vdupq_n_u32(15));
    r.part[i] = vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100u), entry, 0x04040404u));
  }
  return r;
}
inline Vec LookUp(const float (&table)[16], const Index& index) {
  uint8x16x4_t bytes;
  for (int i = 0; i < 4; ++i) bytes.val[i] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * i));
  return Map([&](int i) { return vreinterpretq_f32_u8(vqtbl4q_u8(bytes, index.part[i])); });
}

inline float ReduceAdd(Vec a) {
  const float32x4_t b = vaddq_f32(vaddq_f32(a.part[0], a.part[2]), vaddq_f32(a.part[1], a.part[3]));
  const float32x2_t c = vadd_f32(vget_low_f32(b), vget_high_f32(b));
  return vget_lane_f32(c, 0) + vget_lane_f32(c, 1);
}
inline float ReduceMax(Vec a) {
  float lane[kLanes];
  Store(lane, a);
  for (std::size_t n = kLanes / 2; n > 0; n /= 2) {
    for (std::size_t i = 0; i < n; ++i) lane[i] = lane[i] > lane[i + n] ? lane[i] : lane[i + n];
  }
  return lane[0];
}

inline float Sqrt(float x) { return __builtin_sqrtf(x); }

}  // namespace
}  // namespace lattice::kernels
