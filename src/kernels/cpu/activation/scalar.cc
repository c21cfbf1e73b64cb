#include <cmath>

#include "kernels/cpu/activation/variants.h"

namespace lattice::kernels {
namespace {

float GeluErf(float x) { return 0.5f * x * std::erfc(-x * 0.70710678f); }
float GeluTanh(float x) {
  return 0.5f * x * (1.0f + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}
float Relu(float x) { return x > 0 ? x : 0; }
float Silu(float x) { return x / (1.0f + std::exp(-x)); }
float Tanh(float x) { return std::tanh(x); }

template <float (*f)(float)>
void Map(float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = f(x[i]);
}
template <float (*f)(float)>
void Gate(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i]) * b[i];
}

}  // namespace

const ActivationKernels kActivationScalar = {
    Map<GeluErf>,  Map<GeluTanh>,  Map<Relu>,  Map<Silu>,  Map<Tanh>,
    Gate<GeluErf>, Gate<GeluTanh>, Gate<Relu>, Gate<Silu>, Gate<Tanh>};

}  // namespace lattice::kernels
