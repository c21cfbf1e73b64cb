// See products_neon.inl.

#include <arm_neon.h>

namespace lattice::kernels {
namespace {

inline int32x4_t AddProducts(int32x4_t sum, int8x16_t w, int8x16_t x) {
  return vdotq_s32(sum, w, x);
}

}  // namespace
}  // namespace lattice::kernels
