#include "kernels/cpu/dot_blocks/products_avxvnni.inl"
// After it: what it defines is used there.
#include "kernels/cpu/dot_blocks/ymm.inl"

namespace lattice::kernels {

void DotBlocksAvxVnni(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
