#include "kernels/cpu/simd/vec_avx2.inl"
// Vec comes first.
#include "kernels/cpu/simd/exp.inl"
#include "transport/rows/variants.h"

namespace lattice::transport {
namespace {

using namespace lattice::kernels;

struct Wide {
  __m256d part[4];
};

inline Wide Widen(Vec x) {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(x.lo)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(x.lo, 1)),
           _mm256_cvtps_pd(_mm256_castps256_ps128(x.hi)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(x.hi, 1))}};
}
template <typename F>
inline Wide MapWide(F f) {
  return {{f(0), f(1), f(2), f(3)}};
}
inline Wide ZeroWide() {
  return MapWide([](int) { return _mm256_setzero_pd(); });
}
inline Wide LoadWide(const double* p) {
  return MapWide([p](int i) { return _mm256_loadu_pd(p + 4 * i); });
}
inline void StoreWide(double* p, const Wide& w) {
  for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, w.part[i]);
}
inline Wide AddWide(const Wide& w, Vec x) {
  const Wide wide = Widen(x);
  return MapWide([&](int i) { return _mm256_add_pd(w.part[i], wide.part[i]); });
}
// x * scale + w, rounded once.
inline Wide FmaWide(Vec x, double scale, const Wide& w) {
  const Wide wide = Widen(x);
  const __m256d by = _mm256_set1_pd(scale);
  return MapWide([&](int i) { return _mm256_fmadd_pd(wide.part[i], by, w.part[i]); });
}

#include "transport/rows/body.inl"

}  // namespace

const RowFns kRowsAvx2 = {AffineMax, ExpSum, ExpSumMoment, AddWeighted};

}  // namespace lattice::transport
