#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/norm/body.inl"
#include "kernels/cpu/norm/variants.h"

namespace lattice::kernels {

const NormKernels kNormAvx2 = {LayerNormRows, RmsNormRows};

}  // namespace lattice::kernels
