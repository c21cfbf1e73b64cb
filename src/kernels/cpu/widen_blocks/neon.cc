#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_neon.inl"

namespace lattice::kernels {
namespace {

inline float Half(std::uint16_t bits) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/widen_blocks/body.inl"

namespace lattice::kernels {

void WidenBlocksNeon(Dtype dtype, const std::byte* blocks, std::size_t n, float* out) {
  WidenBlocks(dtype, blocks, n, out);
}

}  // namespace lattice::kernels
