#include "kernels/cpu/dot_blocks/products_neon_dotprod.inl"
// After it: what it defines is used there.
#include "kernels/cpu/dot_blocks/neon.inl"

namespace lattice::kernels {

void DotBlocksNeonDotprod(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
