#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileVecs = 4;

// See columns.inl.
inline void WriteColumns(const float* rows, std::size_t stride, std::size_t n_dims,
                         float* columns) {
  for (std::size_t d = 0; d < n_dims; d += kLanes) {
    const std::size_t n = n_dims - d < kLanes ? n_dims - d : kLanes;
    Vec r[kLanes];
    LoadColumns(rows + d, stride, kLanes, n, r);
    for (std::size_t i = 0; i < n; ++i) Store(columns + (d + i) * kLanes, r[i]);
  }
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/delta_net/body.inl"

namespace lattice::kernels {

const DeltaNetKernels kDeltaNetAvx512 = {Convolve, Keys, Gates, Values, Fold};

}  // namespace lattice::kernels
