#include "kernels/cpu/dot_blocks/products_neon_dotprod.inl"
// After it: what it defines is used there.
#include "kernels/cpu/packed_blocks/neon.inl"

namespace lattice::kernels {

const PackedBlocksFns kPackedBlocksNeonDotprod = kFunctions;

}  // namespace lattice::kernels
