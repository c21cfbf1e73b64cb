#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/norm/body.inl"
#include "kernels/cpu/norm/variants.h"

namespace lattice::kernels {

const NormKernels kNormNeon = {LayerNormRows, RmsNormRows};

}  // namespace lattice::kernels
