#include "kernels/cpu/rope/rope.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr RopeVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, RopeAvx512},
    {"avx2", CpuFeature::kAvx2, RopeAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, RopeNeon},
#endif
    {"scalar", {}, RopeScalar},
};

}  // namespace

std::span<const RopeVariant> RopeVariants() { return kVariants; }

RopeFn SelectRope(CpuFeatures features) { return SelectVariant(RopeVariants(), features).run; }

}  // namespace lattice::kernels
