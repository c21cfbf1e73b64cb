#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/half_avx512.inl"

namespace lattice::kernels {
namespace {

inline float Half(std::uint16_t bits) { return _cvtsh_ss(bits); }

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/widen_blocks/body.inl"

namespace lattice::kernels {

void WidenBlocksAvx512(Dtype dtype, const std::byte* blocks, std::size_t n, float* out) {
  WidenBlocks(dtype, blocks, n, out);
}

}  // namespace lattice::kernels
