#include <immintrin.h>

namespace lattice::kernels {
namespace {

template <bool kWide>
inline __m256i AddProducts(__m256i sum, __m256i w, __m256i x) {
  return _mm256_dpbusd_avx_epi32(sum, w, x);
}

}  // namespace
}  // namespace lattice::kernels

#include "kernels/cpu/dot_blocks/ymm.inl"

namespace lattice::kernels {

void DotBlocksAvxVnni(const DotBlocksArgs& args) { DotBlocks(args); }

}  // namespace lattice::kernels
