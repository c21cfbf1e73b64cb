#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "vectors/product/variants.h"

namespace lattice::vectors {
namespace {

using namespace lattice::kernels;

// A Vec is two registers: 12 sums, two of the right factor and a broadcast.
constexpr std::size_t kRows = 6, kCols = 1;

#include "vectors/product/body.inl"

}  // namespace

void ProductAvx2(const ProductArgs& args) { Product(args); }

}  // namespace lattice::vectors
