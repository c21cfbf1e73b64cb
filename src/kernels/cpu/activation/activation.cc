#include "kernels/cpu/activation/activation.h"

#include "kernels/cpu/select.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr ActivationVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kActivationAvx512},
    {"avx2", CpuFeature::kAvx2, &kActivationAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kActivationNeon},
#endif
    {"scalar", {}, &kActivationScalar},
};

}  // namespace

std::span<const ActivationVariant> ActivationVariants() { return kVariants; }

const ActivationKernels& SelectActivation(CpuFeatures features) {
  return *SelectVariant(ActivationVariants(), features).run;
}

MapFn MapOf(const ActivationKernels& kernels, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return nullptr;
    case Activation::kGeluErf:
      return kernels.gelu_erf;
    case Activation::kGeluTanh:
      return kernels.gelu_tanh;
    case Activation::kRelu:
      return kernels.relu;
    case Activation::kSilu:
      return kernels.silu;
    case Activation::kTanh:
      return kernels.tanh;
  }
  LATTICE_CHECK(false);
}

MapFn RoughMapOf(const ActivationKernels& kernels, Activation activation) {
  if (activation == Activation::kGeluErf) return kernels.rough_gelu_erf;
  return MapOf(kernels, activation);
}

GateFn GateOf(const ActivationKernels& kernels, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kGeluErf:
      return kernels.gate_gelu_erf;
    case Activation::kGeluTanh:
      return kernels.gate_gelu_tanh;
    case Activation::kRelu:
      return kernels.gate_relu;
    case Activation::kSilu:
      return kernels.gate_silu;
    case Activation::kTanh:
      return kernels.gate_tanh;
  }
  LATTICE_CHECK(false);
}

}  // namespace lattice::kernels
