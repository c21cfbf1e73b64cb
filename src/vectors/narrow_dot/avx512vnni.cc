#include <immintrin.h>

#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

#include "vectors/narrow_dot/avx512_common.inl"

// See avx2.cc.
inline Sums StepHamming(Sums sums, Block a, Block b) {
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i bits =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i x = _mm512_xor_si512(a, b);
  const __m512i count =
      _mm512_add_epi8(_mm512_shuffle_epi8(bits, _mm512_and_si512(x, low)),
                      _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(x, 4), low)));
  return _mm512_add_epi32(sums, _mm512_sad_epu8(count, _mm512_setzero_si512()));
}

#include "vectors/narrow_dot/body.inl"

}  // namespace

const NarrowDotFns kNarrowDotAvx512Vnni = {DotF16,    DotBf16, PairF16, PairBf16,
                                           DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
