#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/transpose_avx512.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kTileVecs = 4;  // With six queries: 24 of 32 registers.

// to[d][key] = from[key][d]; zero for keys from n on.
void PackPanel(const float* from, std::size_t stride, std::size_t n, std::size_t dim, float* to) {
  for (std::size_t d = 0; d < dim; d += 16) {
    const std::size_t n_cols = dim - d < 16 ? dim - d : 16;
    __m512 r[16];
    LoadColumns(from + d, stride, n, n_cols, r);
    for (std::size_t c = 0; c < n_cols; ++c) _mm512_store_ps(to + (d + c) * 16, r[c]);
  }
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/attention/f32.inl"
// The arithmetic comes first.
#include "kernels/cpu/attention/body.inl"

namespace lattice::kernels {

const AttentionKernels kAttentionAvx512 = {kPerSlot,      0,           nullptr,  nullptr,
                                           KeyFloats,     ValueFloats, PackKeys, PackValues,
                                           ScratchFloats, Attend};

}  // namespace lattice::kernels
