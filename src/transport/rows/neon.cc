#include "kernels/cpu/simd/vec_neon.inl"
// Vec comes first.
#include "kernels/cpu/simd/exp.inl"
#include "transport/rows/variants.h"

namespace lattice::transport {
namespace {

using namespace lattice::kernels;

struct Wide {
  float64x2_t part[8];
};

inline Wide ZeroWide() {
  Wide w;
  for (auto& part : w.part) part = vdupq_n_f64(0.0);
  return w;
}
inline Wide LoadWide(const double* p) {
  Wide w;
  for (int i = 0; i < 8; ++i) w.part[i] = vld1q_f64(p + 2 * i);
  return w;
}
inline void StoreWide(double* p, const Wide& w) {
  for (int i = 0; i < 8; ++i) vst1q_f64(p + 2 * i, w.part[i]);
}
inline Wide AddWide(Wide w, const Vec& x) {
  for (int i = 0; i < 4; ++i) {
    w.part[2 * i] = vaddq_f64(w.part[2 * i], vcvt_f64_f32(vget_low_f32(x.part[i])));
    w.part[2 * i + 1] = vaddq_f64(w.part[2 * i + 1], vcvt_high_f64_f32(x.part[i]));
  }
  return w;
}
// x * scale + w, rounded once.
inline Wide FmaWide(const Vec& x, double scale, Wide w) {
  const float64x2_t by = vdupq_n_f64(scale);
  for (int i = 0; i < 4; ++i) {
    w.part[2 * i] = vfmaq_f64(w.part[2 * i], vcvt_f64_f32(vget_low_f32(x.part[i])), by);
    w.part[2 * i + 1] = vfmaq_f64(w.part[2 * i + 1], vcvt_high_f64_f32(x.part[i]), by);
  }
  return w;
}

#include "transport/rows/body.inl"

}  // namespace

const RowFns kRowsNeon = {AffineMax, ExpSum, ExpSumMoment, AddWeighted};

}  // namespace lattice::transport
