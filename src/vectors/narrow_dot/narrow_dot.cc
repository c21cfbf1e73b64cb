#include "vectors/narrow_dot/narrow_dot.h"

namespace lattice::vectors {
namespace {

constexpr NarrowDotVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512vpopcntdq",
     CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni | CpuFeature::kAvx512Vpopcntdq,
     &kNarrowDotAvx512Vpopcntdq},
    {"avx512vnni", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni,
     &kNarrowDotAvx512Vnni},
    {"avx2", CpuFeature::kAvx2, &kNarrowDotAvx2},
#elif defined(__aarch64__)
    {"neon_dotprod", CpuFeature::kNeonDotprod, &kNarrowDotNeonDotprod},
    {"neon", CpuFeature::kNeon, &kNarrowDotNeon},
#endif
    {"scalar", {}, &kNarrowDotScalar},
};

}  // namespace

std::span<const NarrowDotVariant> NarrowDotVariants() { return kVariants; }

const NarrowDotVariant& SelectNarrowDot(CpuFeatures cpu) {
  const NarrowDotVariant* variant = kVariants;
  while (!cpu.Has(variant->needs)) ++variant;
  return *variant;
}

}  // namespace lattice::vectors
