// AddProducts<kWide>(sum, w, x) adds the products of four unsigned bytes with four signed ones to
// each lane. kWide: w may be above 127, and 128 is taken from it.

#include <immintrin.h>

namespace lattice::kernels {
namespace {

constexpr bool kWideIsSigned = true;

// Sums of pairs of products in 16 bits. They stay below its limit: 2 * 127 * 127 = 32258.
inline __m256i Pairs(__m256i w, __m256i x) { return _mm256_maddubs_epi16(w, x); }

// The sign of a wide weight goes over to x: 2 * 128 * 127 = 32512.
struct WideWeights {
  explicit WideWeights(__m256i w)
      : less_128(_mm256_xor_si256(w, _mm256_set1_epi8(static_cast<char>(-128)))),
        magnitude(_mm256_abs_epi8(less_128)) {}
  __m256i less_128, magnitude;
};
inline __m256i Pairs(const WideWeights& w, __m256i x) {
  return _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(x, w.less_128));
}

inline __m256i AddPairs(__m256i sum, __m256i pairs) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

template <bool kWide>
inline __m256i AddProducts(__m256i sum, __m256i w, __m256i x) {
  if constexpr (kWide) return AddPairs(sum, Pairs(WideWeights(w), x));
  return AddPairs(sum, Pairs(w, x));
}

}  // namespace
}  // namespace lattice::kernels
