#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/norm/body.inl"
#include "kernels/cpu/norm/variants.h"

namespace lattice::kernels {

const NormKernels kNormScalar = {LayerNormRows, RmsNormRows};

}  // namespace lattice::kernels
