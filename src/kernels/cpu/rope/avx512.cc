#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/rope/body.inl"

namespace lattice::kernels {

void RopeAvx512(const RopeArgs& args) { RotateRows(args); }

}  // namespace lattice::kernels
