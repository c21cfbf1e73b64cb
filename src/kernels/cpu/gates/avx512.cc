#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/gates/body.inl"

namespace lattice::kernels {

const GateKernels kGatesAvx512 = {SigmoidMultiply, AddGated, SoftCap, Scale, AddScale};

}  // namespace lattice::kernels
