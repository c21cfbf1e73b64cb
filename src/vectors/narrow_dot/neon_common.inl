// What both NEON files share; included before body.inl, after PairsI8 is given.

using Vec = float32x4_t;
constexpr std::size_t kWidth = 4;

inline Vec Zero() { return vdupq_n_f32(0); }
inline Vec Load(const float* p) { return vld1q_f32(p); }
inline Vec Add(Vec a, Vec b) { return vaddq_f32(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
inline float FoldLanes(Vec v) {
  const float32x2_t two = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
inline Vec WidenF16(const std::uint16_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
inline Vec WidenBf16(const std::uint16_t* p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
inline Vec LoadBits(const std::uint16_t* p) { return vreinterpretq_f32_u16(vld1q_u16(p)); }
inline Vec LowBf16(Vec x) {
  return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(x), 16));
}
inline Vec HighBf16(Vec x) {
  return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0xFFFF0000)));
}
inline Vec WidenI8(const std::int8_t* p) {
  std::uint32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  const int8x8_t bytes = vreinterpret_s8_u32(vdup_n_u32(four));
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}

using Block = uint8x16_t;
using Sums = int32x4_t;
constexpr std::size_t kBlock = 16;

inline Sums NoSums() { return vdupq_n_s32(0); }
inline Block LoadBlock(const unsigned char* p) { return vld1q_u8(p); }
inline Sums AddSums(Sums a, Sums b) { return vaddq_s32(a, b); }
inline std::uint32_t Total(Sums s) { return static_cast<std::uint32_t>(vaddvq_s32(s)); }
inline Sums StepI8(Sums sums, Block a, Block b) {
  return AddProducts(sums, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
}
inline Sums StepI4(Sums sums, Block a, Block b) {
  const auto minus8 = [](Block x) { return vsubq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(8)); };
  const Block low = vdupq_n_u8(15);
  sums = AddProducts(sums, minus8(vandq_u8(a, low)), minus8(vandq_u8(b, low)));
  return AddProducts(sums, minus8(vshrq_n_u8(a, 4)), minus8(vshrq_n_u8(b, 4)));
}
inline Sums StepHamming(Sums sums, Block a, Block b) {
  const uint16x8_t pairs = vpaddlq_u8(vcntq_u8(veorq_u8(a, b)));
  return vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(sums), pairs));
}
