#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/gates/body.inl"

namespace lattice::kernels {

const GateKernels kGatesAvx2 = {SigmoidMultiply, AddGated, SoftCap, Scale, AddScale};

}  // namespace lattice::kernels
