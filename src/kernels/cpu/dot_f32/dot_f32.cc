#include "kernels/cpu/dot_f32/dot_f32.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr DotF32Variant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, DotF32Avx512, WidenRowAvx512},
    {"avx2", CpuFeature::kAvx2, DotF32Avx2, WidenRowAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, DotF32Neon, WidenRowNeon},
#endif
    {"scalar", {}, DotF32Scalar, WidenRowScalar},
};

}  // namespace

std::span<const DotF32Variant> DotF32Variants() { return kVariants; }

const DotF32Variant& SelectDotF32(CpuFeatures cpu) { return SelectVariant(DotF32Variants(), cpu); }

}  // namespace lattice::kernels
