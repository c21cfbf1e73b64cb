#include "vectors/dot/dot.h"

namespace lattice::vectors {
namespace {

constexpr DotVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, &kDotAvx512},
    {"avx2", CpuFeature::kAvx2, &kDotAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, &kDotNeon},
#endif
    {"scalar", {}, &kDotScalar},
};

}  // namespace

std::span<const DotVariant> DotVariants() { return kVariants; }

const DotVariant& SelectDot(CpuFeatures cpu) {
  const DotVariant* variant = kVariants;
  while (!cpu.Has(variant->needs)) ++variant;
  return *variant;
}

}  // namespace lattice::vectors
