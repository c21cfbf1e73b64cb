#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {
namespace {

using Rows = const std::byte* const*;
struct Reg {
  uint32x4_t part[4];  // rows 0 to 3, 4 to 7, ...
};
struct Floats {
  float32x4_t part[4];
};

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
inline Reg Xor(Reg a, Reg b) {
  return Each([&](int i) { return veorq_u32(a.part[i], b.part[i]); });
}
inline Reg ShiftLeft(Reg a, unsigned n) {
  const int32x4_t count = vdupq_n_s32(static_cast<int>(n));
  return Each([&](int i) { return vshlq_u32(a.part[i], count); });
}
inline Reg ShiftRight(Reg a, unsigned n) {
  const int32x4_t count = vdupq_n_s32(-static_cast<int>(n));
  return Each([&](int i) { return vshlq_u32(a.part[i], count); });
}
inline Reg ShiftRightSigned(Reg a, unsigned n) {
  const int32x4_t count = vdupq_n_s32(-static_cast<int>(n));
  return Each([&](int i) {
    return vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a.part[i]), count));
  });
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
inline uint32x4_t Load16(const void* p) {
  return vreinterpretq_u32_u8(vld1q_u8(static_cast<const std::uint8_t*>(p)));
}
inline Reg LoadReg(const void* p) {
  return Each([&](int i) { return Load16(static_cast<const std::byte*>(p) + 16 * i); });
}
inline void StoreReg(void* p, Reg v) {
  for (int i = 0; i < 4; ++i) {
    vst1q_u8(static_cast<std::uint8_t*>(p) + 16 * i, vreinterpretq_u8_u32(v.part[i]));
  }
}

inline Floats ToFloats(Reg v) {
  return EachFloats([&](int i) { return vcvtq_f32_s32(vreinterpretq_s32_u32(v.part[i])); });
}
inline Floats Mul(Floats a, Floats b) {
  return EachFloats([&](int i) { return vmulq_f32(a.part[i], b.part[i]); });
}
inline Floats Less(Floats a, float b) {
  return EachFloats([&](int i) { return vsubq_f32(a.part[i], vdupq_n_f32(b)); });
}
inline Floats Negate(Floats a) {
  return EachFloats([&](int i) { return vnegq_f32(a.part[i]); });
}
inline void StoreFloats(float* p, Floats v) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v.part[i]);
}
inline Floats LoadHalves(const std::byte* p) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(p);
  return EachFloats(
      [&](int i) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes + 8 * i))); });
}
inline Floats LowerHalves(Reg v) {
  return EachFloats(
      [&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(v.part[i]))); });
}

inline uint32x4_t LowPairs(uint32x4_t a, uint32x4_t b) {
  return vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}
inline uint32x4_t HighPairs(uint32x4_t a, uint32x4_t b) {
  return vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}
// Sixteen bytes of each row: dword j of row r goes to lane r of t[j].
inline void Load(Rows rows, std::size_t at, Reg (&t)[4]) {
  for (std::size_t i = 0; i < 4; ++i) {
    const uint32x4_t a = Load16(rows[4 * i] + at), b = Load16(rows[4 * i + 1] + at);
    const uint32x4_t c = Load16(rows[4 * i + 2] + at), d = Load16(rows[4 * i + 3] + at);
    const uint32x4_t ab_low = vzip1q_u32(a, b), ab_high = vzip2q_u32(a, b);
    const uint32x4_t cd_low = vzip1q_u32(c, d), cd_high = vzip2q_u32(c, d);
    t[0].part[i] = LowPairs(ab_low, cd_low);
    t[1].part[i] = HighPairs(ab_low, cd_low);
    t[2].part[i] = LowPairs(ab_high, cd_high);
    t[3].part[i] = HighPairs(ab_high, cd_high);
  }
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/unpack_blocks/body.inl"

namespace lattice::kernels {

const UnpackBlocksFns kUnpackBlocksNeon = kFunctions;

}  // namespace lattice::kernels
