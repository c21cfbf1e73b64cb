#include "kernels/cpu/simd/vec_avx512.inl"
// Vec comes first.
#include "kernels/cpu/simd/exp.inl"
#include "transport/rows/variants.h"

namespace lattice::transport {
namespace {

using namespace lattice::kernels;

struct Wide {
  __m512d lo, hi;
};

inline Wide Widen(Vec x) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
          _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
inline Wide ZeroWide() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
inline Wide LoadWide(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
inline void StoreWide(double* p, const Wide& w) {
  _mm512_storeu_pd(p, w.lo);
  _mm512_storeu_pd(p + 8, w.hi);
}
inline Wide AddWide(const Wide& w, Vec x) {
  const Wide wide = Widen(x);
  return {_mm512_add_pd(w.lo, wide.lo), _mm512_add_pd(w.hi, wide.hi)};
}
// x * scale + w, rounded once.
inline Wide FmaWide(Vec x, double scale, const Wide& w) {
  const Wide wide = Widen(x);
  const __m512d by = _mm512_set1_pd(scale);
  return {_mm512_fmadd_pd(wide.lo, by, w.lo), _mm512_fmadd_pd(wide.hi, by, w.hi)};
}

#include "transport/rows/body.inl"

}  // namespace

const RowFns kRowsAvx512 = {AffineMax, ExpSum, ExpSumMoment, AddWeighted};

}  // namespace lattice::transport
