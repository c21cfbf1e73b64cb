#include "kernels/cpu/simd/vec_scalar.inl"
// Vec comes first.
#include "kernels/cpu/simd/exp.inl"
#include "transport/rows/variants.h"

namespace lattice::transport {
namespace {

using namespace lattice::kernels;

struct Wide {
  double lane[kLanes];
};

inline Wide ZeroWide() { return {}; }
inline Wide LoadWide(const double* p) {
  Wide w;
  for (std::size_t i = 0; i < kLanes; ++i) w.lane[i] = p[i];
  return w;
}
inline void StoreWide(double* p, const Wide& w) {
  for (std::size_t i = 0; i < kLanes; ++i) p[i] = w.lane[i];
}
inline Wide AddWide(Wide w, const Vec& x) {
  for (std::size_t i = 0; i < kLanes; ++i) w.lane[i] += static_cast<double>(x.lane[i]);
  return w;
}
// x * scale + w, rounded once.
inline Wide FmaWide(const Vec& x, double scale, Wide w) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    w.lane[i] = __builtin_fma(static_cast<double>(x.lane[i]), scale, w.lane[i]);
  }
  return w;
}

#include "transport/rows/body.inl"

}  // namespace

const RowFns kRowsScalar = {AffineMax, ExpSum, ExpSumMoment, AddWeighted};

}  // namespace lattice::transport
