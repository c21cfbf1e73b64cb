#include "kernels/cpu/dot_blocks/products_neon.inl"
// After it: what it defines is used there.
#include "kernels/cpu/packed_blocks/neon.inl"

namespace lattice::kernels {

const PackedBlocksFns kPackedBlocksNeon = kFunctions;

}  // namespace lattice::kernels
