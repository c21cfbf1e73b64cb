#include "kernels/cpu/simd/vec_scalar.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileVecs = 1;

// to[d][key] = from[key][d]; zero for keys from n on.
void PackPanel(const float* from, std::size_t stride, std::size_t n, std::size_t dim, float* to) {
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t i = 0; i < 16; ++i) to[d * 16 + i] = i < n ? from[i * stride + d] : 0.0f;
  }
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/attention/f32.inl"
// The arithmetic comes first.
#include "kernels/cpu/attention/body.inl"

namespace lattice::kernels {

const AttentionKernels kAttentionScalar = {kPerSlot,      0,           nullptr,  nullptr,
                                           KeyFloats,     ValueFloats, PackKeys, PackValues,
                                           ScratchFloats, Attend};

}  // namespace lattice::kernels
