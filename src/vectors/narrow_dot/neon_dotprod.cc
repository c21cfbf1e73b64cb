#include <arm_neon.h>

#include "vectors/narrow_dot/variants.h"

namespace lattice::vectors {
namespace {

inline int32x4_t AddProducts(int32x4_t sums, int8x16_t a, int8x16_t b) {
  return vdotq_s32(sums, a, b);
}

#include "vectors/narrow_dot/neon_common.inl"
// Vec and Block come first.
#include "vectors/narrow_dot/load_end.inl"
// LoadEnd comes first.
#include "vectors/narrow_dot/body.inl"

}  // namespace

const NarrowDotFns kNarrowDotNeonDotprod = {DotF16,    DotBf16, PairF16, PairBf16,
                                            DotWideI8, DotI8,   DotI4,   Hamming};

}  // namespace lattice::vectors
