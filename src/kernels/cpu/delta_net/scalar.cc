#include "kernels/cpu/simd/vec_scalar.inl"

namespace lattice::kernels {
namespace {
constexpr std::size_t kTileVecs = 1;
}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/delta_net/columns.inl"
// Both come before the body.
#include "kernels/cpu/delta_net/body.inl"

namespace lattice::kernels {

const DeltaNetKernels kDeltaNetScalar = {Convolve, Keys, Gates, Values, Fold};

}  // namespace lattice::kernels
