#include "kernels/cpu/gates/gates.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr GateVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kGatesAvx512},
    {"avx2", CpuFeature::kAvx2, &kGatesAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kGatesNeon},
#endif
    {"scalar", {}, &kGatesScalar},
};

}  // namespace

std::span<const GateVariant> GateVariants() { return kVariants; }

const GateKernels& SelectGates(CpuFeatures features) {
  return *SelectVariant(GateVariants(), features).run;
}

}  // namespace lattice::kernels
