#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "vectors/product/variants.h"

namespace lattice::vectors {
namespace {

using namespace lattice::kernels;

// A Vec is four registers: 24 sums, four of the right factor and a broadcast.
constexpr std::size_t kRows = 6, kCols = 1;

#include "vectors/product/body.inl"

}  // namespace

void ProductNeon(const ProductArgs& args) { Product(args); }

}  // namespace lattice::vectors
