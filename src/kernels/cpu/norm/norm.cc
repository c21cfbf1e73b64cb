#include "kernels/cpu/norm/norm.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr NormVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kNormAvx512},
    {"avx2", CpuFeature::kAvx2, &kNormAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kNormNeon},
#endif
    {"scalar", {}, &kNormScalar},
};

}  // namespace

std::span<const NormVariant> NormVariants() { return kVariants; }

const NormKernels& SelectNorm(CpuFeatures features) {
  return *SelectVariant(NormVariants(), features).run;
}

}  // namespace lattice::kernels
