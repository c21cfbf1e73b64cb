#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/rope/body.inl"

namespace lattice::kernels {

void RopeNeon(const RopeArgs& args) { RotateRows(args); }

}  // namespace lattice::kernels
