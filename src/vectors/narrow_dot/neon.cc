#include <arm_neon.h>

#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

inline int32x4_t AddProducts(int32x4_t sums, int8x16_t a, int8x16_t b) {
  sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  return vpadalq_s16(sums, vmull_high_s8(a, b));
}

#include "vectors/narrow_dot/neon_common.inl"
// Vec and Block come first.
#include "vectors/narrow_dot/load_end.inl"
// LoadEnd comes first.
#include "vectors/narrow_dot/body.inl"

}  // namespace

const NarrowDotFns kNarrowDotNeon = {DotF16,    DotBf16, PairF16, PairBf16,
                                     DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
