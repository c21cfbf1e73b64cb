#include "kernels/cpu/simd/vec_avx512.inl"

namespace lattice::kernels {
namespace {
constexpr std::size_t kTileVecs = 4;
}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/delta_net/body.inl"

namespace lattice::kernels {

const DeltaNetKernels kDeltaNetAvx512 = {Convolve, Keys, Gates, Values, Fold};

}  // namespace lattice::kernels
