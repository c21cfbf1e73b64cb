#include "kernels/cpu/round_rows/body.inl"

namespace lattice::kernels {

void RoundRowScalar(const float* x, std::size_t k, std::uint16_t* out, std::size_t k_padded) {
  RoundRow(x, k, out, k_padded);
}

}  // namespace lattice::kernels
