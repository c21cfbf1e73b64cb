// See products_avx2.inl.

#include <immintrin.h>

namespace lattice::kernels {
namespace {

constexpr bool kWideIsSigned = false;

template <bool kWide>
inline __m256i AddProducts(__m256i sum, __m256i w, __m256i x) {
  return _mm256_dpbusd_avx_epi32(sum, w, x);
}

}  // namespace
}  // namespace lattice::kernels
