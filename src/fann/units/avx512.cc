#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "fann/units/variants.h"
#include "kernels/cpu/simd/sigmoid.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::fann {
namespace {

using namespace lattice::kernels;

inline Vec Root(Vec a) { return _mm512_sqrt_ps(a); }

#include "fann/units/transpose_x86.inl"
// Root and Transpose come first.
#include "fann/units/body.inl"

}  // namespace

const UnitFns kUnitsAvx512 = {Activate,  ActivateBack,  Softmax,    SoftmaxBack, Normalise,
                              Affine,    NormaliseBack, Multiply,   ColumnSums,  ColumnDots,
                              Transpose, Poison,        SumSquares, Sgd,         Momentum,
                              Adam,      RmsProp};

}  // namespace lattice::fann
