#include "kernels/cpu/gemm_bf16/gemm_bf16.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr GemmBf16Variant kVariants[] = {
#if defined(__x86_64__)
    {"amx_bf16", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAmxBf16, GemmBf16Amx, 2, false},
    {"avx512bf16", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Bf16, GemmBf16Avx512Bf16,
     2, false},
    {"avx512", CpuFeature::kAvx512, GemmBf16Avx512, 2, true},
    {"avx2", CpuFeature::kAvx2, GemmBf16Avx2, 2, true},
#elif defined(__aarch64__)
    {"neon_bf16", CpuFeature::kNeonBf16, GemmBf16NeonBf16, 4, false},
    {"neon", CpuFeature::kNeon, GemmBf16Neon, 2, true},
#endif
    {"scalar", {}, GemmBf16Scalar, 2, true},
};

}  // namespace

std::span<const GemmBf16Variant> GemmBf16Variants() { return kVariants; }

const GemmBf16Variant& SelectGemmBf16(CpuFeatures cpu) {
  return SelectVariant(GemmBf16Variants(), cpu);
}

}  // namespace lattice::kernels
