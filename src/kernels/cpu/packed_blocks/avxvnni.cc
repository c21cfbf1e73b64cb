#include "kernels/cpu/dot_blocks/products_avxvnni.inl"
// After it: what it defines is used there.
#include "kernels/cpu/packed_blocks/ymm.inl"

namespace lattice::kernels {

const PackedBlocksFns kPackedBlocksAvxVnni = kFunctions;

}  // namespace lattice::kernels
