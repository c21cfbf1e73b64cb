#include <immintrin.h>

#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

#include "vectors/narrow_dot/avx512_common.inl"

// Eight sums of 64 bits, each below 2^32: as 32-bit ones, every second is zero.
inline Sums StepHamming(Sums sums, Block a, Block b) {
  return _mm512_add_epi64(sums, _mm512_popcnt_epi64(_mm512_xor_si512(a, b)));
}

#include "vectors/narrow_dot/body.inl"

}  // namespace

const NarrowDotFns kNarrowDotAvx512Vpopcntdq = {DotF16,    DotBf16, PairF16, PairBf16,
                                                DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
