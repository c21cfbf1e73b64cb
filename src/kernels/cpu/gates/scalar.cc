#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/gates/body.inl"

namespace lattice::kernels {

const GateKernels kGatesScalar = {SigmoidMultiply, AddGated, SoftCap, Scale, AddScale};

}  // namespace lattice::kernels
