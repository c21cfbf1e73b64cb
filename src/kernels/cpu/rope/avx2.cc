#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/rope/body.inl"

namespace lattice::kernels {

void RopeAvx2(const RopeArgs& args) { RotateRows(args); }

}  // namespace lattice::kernels
