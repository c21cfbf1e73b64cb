#pragma once

#include <cstddef>

namespace lattice::kernels {

/// Element-wise steps between a generator's layers, over n contiguous floats.
struct GateKernels {
  void (*sigmoid_multiply)(const float* gate, float* x, std::size_t n);  ///< x *= sigmoid(gate)
  /// out += sigmoid(gate) * x, one gate for all.
  void (*add_gated)(float gate, const float* x, float* out, std::size_t n);
  void (*soft_cap)(float cap, float* x, std::size_t n);  ///< x = cap tanh(x / cap)
  void (*scale)(float scale, float* x, std::size_t n);   ///< x *= scale
  void (*add_scale)(float scale, const float* y, float* x, std::size_t n);  ///< x = scale (x + y)
};

extern const GateKernels kGatesScalar;
extern const GateKernels kGatesAvx2;
extern const GateKernels kGatesAvx512;
extern const GateKernels kGatesNeon;

}  // namespace lattice::kernels
