#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "vectors/product/variants.h"

namespace lattice::vectors {
namespace {

using namespace lattice::kernels;

// One row: the compiler keeps its 16 sums where it can.
constexpr std::size_t kRows = 1, kCols = 1;

#include "vectors/product/body.inl"

}  // namespace

void ProductScalar(const ProductArgs& args) { Product(args); }

}  // namespace lattice::vectors
