#pragma once

#include <cstddef>

namespace lattice::kernels {

/// x[i] = f(x[i]) for i < n.
using MapFn = void (*)(float* x, std::size_t n);
/// out[i] = f(a[i]) * b[i] for i < n. out may be a or b.
using GateFn = void (*)(const float* a, const float* b, std::size_t n, float* out);

/// By Activation, without kNone; and what the rounded precisions may use.
struct ActivationKernels {
  MapFn gelu_erf, gelu_tanh, relu, silu, tanh;
  MapFn rough_gelu_erf;  ///< Within 4.6e-5 of it.
  GateFn gate_gelu_erf, gate_gelu_tanh, gate_relu, gate_silu, gate_tanh;
};

extern const ActivationKernels kActivationScalar;
extern const ActivationKernels kActivationAvx2;
extern const ActivationKernels kActivationAvx512;
extern const ActivationKernels kActivationNeon;

}  // namespace lattice::kernels
