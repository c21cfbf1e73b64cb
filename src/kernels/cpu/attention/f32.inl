// The arithmetic of attention in f32: see body.inl.

#include "kernels/cpu/simd/exp.inl"

namespace lattice::kernels {
namespace {

constexpr std::size_t kPerSlot = 1;

inline Vec AddProducts(Vec x, Vec y, Vec sum) { return Fma(x, y, sum); }
inline Vec Probability(Vec x) { return Exp2OfNegative(x); }
inline void StoreSlots(float* to, Vec values) { Store(to, values); }
inline Vec SlotsOfTwoRows(const float* row, const float*, std::size_t n) {
  return LoadPart(row, n, 0.0f);
}

}  // namespace
}  // namespace lattice::kernels
