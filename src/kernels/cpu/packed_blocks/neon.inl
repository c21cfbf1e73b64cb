// Reg and Floats of 128-bit registers, for a file that comes with AddProducts of int32x4_t.

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

struct Reg {
  uint32x4_t part[4];  // outputs 0 to 3, 4 to 7, ...
};
struct Floats {
  float32x4_t part[4];
};

// Products are of signed bytes: bytes above 127 are taken less 128.
constexpr bool kWideIsSigned = true;

template <typename F>
inline Reg Each(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}
template <typename F>
inline Floats EachFloats(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}

inline Reg And(Reg a, Reg b) {
  return Each([&](int i) { return vandq_u32(a.part[i], b.part[i]); });
}
inline Reg Or(Reg a, Reg b) {
  return Each([&](int i) { return vorrq_u32(a.part[i], b.part[i]); });
}
inline Reg ShiftLeft(Reg a, unsigned n) {
  const int32x4_t count = vdupq_n_s32(static_cast<int>(n));
  return Each([&](int i) { return vshlq_u32(a.part[i], count); });
}
inline Reg ShiftRight(Reg a, unsigned n) {
  const int32x4_t count = vdupq_n_s32(-static_cast<int>(n));
  return Each([&](int i) { return vshlq_u32(a.part[i], count); });
}
inline Reg Add32(Reg a, Reg b) {
  return Each([&](int i) { return vaddq_u32(a.part[i], b.part[i]); });
}
inline Reg Sub32(Reg a, Reg b) {
  return Each([&](int i) { return vsubq_u32(a.part[i], b.part[i]); });
}
inline Reg Splat8(int v) {
  const uint32x4_t all = vreinterpretq_u32_u8(vdupq_n_u8(static_cast<std::uint8_t>(v)));
  return {{all, all, all, all}};
}
inline Reg Splat32(int v) {
  const uint32x4_t all = vdupq_n_u32(static_cast<std::uint32_t>(v));
  return {{all, all, all, all}};
}
inline Reg LoadTable(const std::uint8_t (&table)[16]) {
  const uint32x4_t all = vreinterpretq_u32_u8(vld1q_u8(table));
  return {{all, all, all, all}};
}
// table[index] of each byte, in each sixteen bytes by themselves.
inline Reg LookUp(Reg table, Reg index) {
  return Each([&](int i) {
    return vreinterpretq_u32_u8(
        vqtbl1q_u8(vreinterpretq_u8_u32(table.part[i]), vreinterpretq_u8_u32(index.part[i])));
  });
}
inline const std::uint8_t* Bytes(const std::byte* p) {
  return reinterpret_cast<const std::uint8_t*>(p);
}
inline Reg LoadReg(const std::byte* p) {
  return Each([&](int i) { return vreinterpretq_u32_u8(vld1q_u8(Bytes(p) + 16 * i)); });
}
inline void StoreReg(std::uint8_t* p, Reg v) {
  for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, vreinterpretq_u8_u32(v.part[i]));
}
inline Reg LoadBytes(const std::byte* p) {
  const uint8x16_t bytes = vld1q_u8(Bytes(p));
  const uint16x8_t lo = vmovl_u8(vget_low_u8(bytes)), hi = vmovl_high_u8(bytes);
  return {{vmovl_u16(vget_low_u16(lo)), vmovl_high_u16(lo), vmovl_u16(vget_low_u16(hi)),
           vmovl_high_u16(hi)}};
}
inline Reg LoadSignedBytes(const std::byte* p) {
  const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(Bytes(p)));
  const int16x8_t lo = vmovl_s8(vget_low_s8(bytes)), hi = vmovl_high_s8(bytes);
  return {{vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(lo))),
           vreinterpretq_u32_s32(vmovl_high_s16(lo)),
           vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(hi))),
           vreinterpretq_u32_s32(vmovl_high_s16(hi))}};
}
template <bool kWide>
inline Reg AddProducts(Reg sum, Reg w, std::int32_t x) {
  const int8x16_t input = vreinterpretq_s8_s32(vdupq_n_s32(x));
  const uint8x16_t flip = vdupq_n_u8(kWide ? 128 : 0);
  return Each([&](int i) {
    const uint8x16_t bytes = veorq_u8(vreinterpretq_u8_u32(w.part[i]), flip);
    return vreinterpretq_u32_s32(
        AddProducts(vreinterpretq_s32_u32(sum.part[i]), vreinterpretq_s8_u8(bytes), input));
  });
}

inline Floats SplatFloats(float v) {
  const float32x4_t all = vdupq_n_f32(v);
  return {{all, all, all, all}};
}
inline Floats ZeroFloats() { return SplatFloats(0); }
inline Floats ToFloats(Reg v) {
  return EachFloats([&](int i) { return vcvtq_f32_s32(vreinterpretq_s32_u32(v.part[i])); });
}
inline Floats AsFloats(Reg v) {
  return EachFloats([&](int i) { return vreinterpretq_f32_u32(v.part[i]); });
}
inline Floats Mul(Floats a, Floats b) {
  return EachFloats([&](int i) { return vmulq_f32(a.part[i], b.part[i]); });
}
inline Floats MulAdd(Floats a, Floats b, Floats c) {
  return EachFloats([&](int i) { return vfmaq_f32(c.part[i], a.part[i], b.part[i]); });
}
inline Floats Negate(Floats a) {
  return EachFloats([&](int i) { return vnegq_f32(a.part[i]); });
}
inline Floats LoadHalves(const std::byte* p) {
  return EachFloats(
      [&](int i) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(Bytes(p) + 8 * i))); });
}
inline void StoreFloats(float* p, Floats v) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v.part[i]);
}
inline void StoreFirst(float* p, std::size_t n, Floats v) {
  float all[16];
  StoreFloats(all, v);
  __builtin_memcpy(p, all, n * sizeof(float));
}
inline __attribute__((always_inline)) void Prefetch(const std::byte* p) { __builtin_prefetch(p); }

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/packed_blocks/body.inl"
