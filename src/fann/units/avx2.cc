#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "fann/units/variants.h"
#include "kernels/cpu/simd/sigmoid.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::fann {
namespace {

using namespace lattice::kernels;

inline Vec Root(Vec a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }

#include "fann/units/transpose_x86.inl"
// Root and Transpose come first.
#include "fann/units/body.inl"

}  // namespace

const UnitFns kUnitsAvx2 = {Activate,      ActivateBack, Softmax,    SoftmaxBack, Normalise, Affine,
                            NormaliseBack, Multiply,     ColumnSums, ColumnDots,  Transpose, Poison,
                            SumSquares,    Sgd,          Momentum,   Adam,        RmsProp};

}  // namespace lattice::fann
