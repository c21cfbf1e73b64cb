// Included by each instruction set's file, after its Vec.

#include "kernels/cpu/gates/variants.h"
#include "kernels/cpu/simd/sigmoid.inl"
#include "kernels/cpu/simd/tanh.inl"

namespace lattice::kernels {
namespace {

// x[i] = f(x[i], y[i]).
template <typename F>
inline void ForPairs(float* x, const float* y, std::size_t n, F f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(x + i, f(Load(x + i), Load(y + i)));
  if (i < n) {
    StorePart(x + i, f(LoadPart(x + i, n - i, 0.0f), LoadPart(y + i, n - i, 0.0f)), n - i);
  }
}

void SigmoidMultiply(const float* gate, float* x, std::size_t n) {
  ForPairs(x, gate, n, [](Vec a, Vec g) { return Mul(a, Sigmoid(g)); });
}

void AddGated(float gate, const float* x, float* out, std::size_t n) {
  const Vec factor = Sigmoid(Set1(gate));
  ForPairs(out, x, n, [=](Vec sum, Vec a) { return Fma(factor, a, sum); });
}

void SoftCap(float cap, float* x, std::size_t n) {
  const Vec c = Set1(cap);
  ForPairs(x, x, n, [=](Vec a, Vec) { return Mul(c, Tanh()(Div(a, c))); });
}

void Scale(float scale, float* x, std::size_t n) {
  const Vec s = Set1(scale);
  ForPairs(x, x, n, [=](Vec a, Vec) { return Mul(a, s); });
}

void AddScale(float scale, const float* y, float* x, std::size_t n) {
  const Vec s = Set1(scale);
  ForPairs(x, y, n, [=](Vec a, Vec b) { return Mul(Add(a, b), s); });
}

}  // namespace
}  // namespace lattice::kernels
