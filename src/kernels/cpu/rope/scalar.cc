#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/rope/body.inl"

namespace lattice::kernels {

void RopeScalar(const RopeArgs& args) { RotateRows(args); }

}  // namespace lattice::kernels
