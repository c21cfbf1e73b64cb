#include <arm_neon.h>

#include "vectors/dot/variants.h"

namespace lattice::vectors {
namespace {

using Vec = float32x4_t;
constexpr std::size_t kWidth = 4;
// 32 registers: 16 or 24 sums, two operands, the difference.
constexpr std::size_t GroupFor(std::size_t n_results) { return n_results == 1 ? 16 : 8; }

inline Vec Zero() { return vdupq_n_f32(0.0f); }
inline Vec Splat(float x) { return vdupq_n_f32(x); }
inline Vec Load(const float* p) { return vld1q_f32(p); }
inline Vec LoadPartial(const float* p, std::size_t left) {
  float lanes[kWidth] = {};
  for (std::size_t i = 0; i < kWidth && i < left; ++i) lanes[i] = p[i];
  return vld1q_f32(lanes);
}
inline void Store(float* p, Vec x) { vst1q_f32(p, x); }
inline Vec Add(Vec a, Vec b) { return vaddq_f32(a, b); }
inline Vec Sub(Vec a, Vec b) { return vsubq_f32(a, b); }
inline Vec Div(Vec a, Vec b) { return vdivq_f32(a, b); }
inline Vec Fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
inline float FoldLanes(Vec v) {
  const float32x2_t two = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

#include "vectors/dot/cosine.inl"
// CosineOfSafeSums comes first.
#include "vectors/dot/body.inl"

}  // namespace

const DotFns kDotNeon = {Dot, SquaredDistance, DotAndNorm, DotAndNorms, Cosine, DotTile, Divide};

}  // namespace lattice::vectors
