#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_scalar.inl"

namespace lattice::kernels {
namespace {

inline float Half(std::uint16_t bits) { return WidenF16(bits); }

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/widen_blocks/body.inl"

namespace lattice::kernels {

void WidenBlocksScalar(Dtype dtype, const std::byte* blocks, std::size_t n, float* out) {
  WidenBlocks(dtype, blocks, n, out);
}

}  // namespace lattice::kernels
