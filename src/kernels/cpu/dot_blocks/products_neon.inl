// AddProducts(sum, w, x) adds the products of four signed bytes with four signed ones to each lane.

#include <arm_neon.h>

namespace lattice::kernels {
namespace {

inline int32x4_t AddProducts(int32x4_t sum, int8x16_t w, int8x16_t x) {
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(w, x));
  return vaddq_s32(sum, vpaddq_s32(low, high));
}

}  // namespace
}  // namespace lattice::kernels
