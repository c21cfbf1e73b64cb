#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "vectors/product/variants.h"

namespace lattice::vectors {
namespace {

using namespace lattice::kernels;

// 24 sums, two of the right factor and a broadcast.
constexpr std::size_t kRows = 12, kCols = 2;

#include "vectors/product/body.inl"

}  // namespace

void ProductAvx512(const ProductArgs& args) { Product(args); }

}  // namespace lattice::vectors
