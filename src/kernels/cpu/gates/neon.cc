#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/gates/body.inl"

namespace lattice::kernels {

const GateKernels kGatesNeon = {SigmoidMultiply, AddGated, SoftCap, Scale, AddScale};

}  // namespace lattice::kernels
