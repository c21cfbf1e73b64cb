#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/norm/body.inl"
#include "kernels/cpu/norm/variants.h"

namespace lattice::kernels {

const NormKernels kNormAvx512 = {LayerNormRows, RmsNormRows};

}  // namespace lattice::kernels
