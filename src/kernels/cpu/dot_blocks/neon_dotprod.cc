#include <arm_neon.h>

namespace lattice::kernels {
namespace {

inline int32x4_t AddProducts(int32x4_t sum, int8x16_t w, int8x16_t x) {
  return vdotq_s32(sum, w, x);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_blocks/neon.inl"

namespace lattice::kernels {

void DotBlocksNeonDotprod(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
