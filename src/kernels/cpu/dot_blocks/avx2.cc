#include "kernels/cpu/dot_blocks/products_avx2.inl"
// After it: what it defines is used there.
#include "kernels/cpu/dot_blocks/ymm.inl"

namespace lattice::kernels {

void DotBlocksAvx2(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
