// AddProducts<kWide>(sum, w, x) adds the products of four unsigned bytes with four signed ones to
// each lane. kWide: w may be above 127.

#include <immintrin.h>

namespace lattice::kernels {
namespace {

template <bool kWide>
inline __m256i AddProducts(__m256i sum, __m256i w, __m256i x) {
  const __m256i ones = _mm256_set1_epi16(1);
  if constexpr (!kWide) {
    // Pairs stay below the i16 limit: 2 * 127 * 127 = 32258.
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), ones));
  }
  // So do those of the lower seven bits and those of the upper one: 2 * 128 * 127 = 32512.
  const __m256i top = _mm256_set1_epi8(static_cast<char>(-128));
  const __m256i low = _mm256_maddubs_epi16(_mm256_andnot_si256(top, w), x);
  const __m256i high = _mm256_maddubs_epi16(_mm256_and_si256(top, w), x);
  return _mm256_add_epi32(
      sum, _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones)));
}

}  // namespace
}  // namespace lattice::kernels
