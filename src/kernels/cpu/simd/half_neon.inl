// See half_scalar.inl.

namespace lattice::kernels {
namespace {

inline Vec LoadF16(const std::uint16_t* p) {
  return Map([p](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
}
inline void StoreF16(std::uint16_t* p, Vec a) {
  for (int i = 0; i < 4; ++i) {
    vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(a.part[i])));
  }
}
inline Vec LoadI8(const std::int8_t* p) {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t lo = vmovl_s8(vget_low_s8(bytes)), hi = vmovl_s8(vget_high_s8(bytes));
  return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(lo))),
           vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))),
           vcvtq_f32_s32(vmovl_s16(vget_high_s16(hi)))}};
}
inline void StoreI8(std::int8_t* p, Vec a) {
  int16x4_t words[4];
  for (int i = 0; i < 4; ++i) words[i] = vmovn_s32(vcvtnq_s32_f32(a.part[i]));
  vst1q_s8(p, vcombine_s8(vmovn_s16(vcombine_s16(words[0], words[1])),
                          vmovn_s16(vcombine_s16(words[2], words[3]))));
}

}  // namespace
}  // namespace lattice::kernels
