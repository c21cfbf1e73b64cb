#include "kernels/cpu/dot_blocks/products_avx2.inl"
// After it: what it defines is used there.
#include "kernels/cpu/packed_blocks/ymm.inl"

namespace lattice::kernels {

const PackedBlocksFns kPackedBlocksAvx2 = kFunctions;

}  // namespace lattice::kernels
