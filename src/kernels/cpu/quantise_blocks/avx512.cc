#include "kernels/cpu/quantise_blocks/body.inl"

namespace lattice::kernels {

void QuantiseBlocksAvx512(const float* x, std::size_t k, const QuantisedRow& out) {
  QuantiseBlocks(x, k, out);
}

}  // namespace lattice::kernels
