#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "fann/units/variants.h"
#include "kernels/cpu/simd/sigmoid.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::fann {
namespace {

using namespace lattice::kernels;

inline Vec Root(Vec a) {
  return Map([&](std::size_t i) { return __builtin_sqrtf(a.lane[i]); });
}

#include "fann/units/transpose_plain.inl"
// Root and Transpose come first.
#include "fann/units/body.inl"

}  // namespace

const UnitFns kUnitsScalar = {Activate,  ActivateBack,  Softmax,    SoftmaxBack, Normalise,
                              Affine,    NormaliseBack, Multiply,   ColumnSums,  ColumnDots,
                              Transpose, Poison,        SumSquares, Sgd,         Momentum,
                              Adam,      RmsProp};

}  // namespace lattice::fann
