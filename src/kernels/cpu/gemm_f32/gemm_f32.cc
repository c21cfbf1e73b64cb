#include "kernels/cpu/gemm_f32/gemm_f32.h"

namespace lattice::kernels {
namespace {

constexpr GemmF32Variant kVariants[] = {
#if defined(__x86_64__)
    {"amx_bf16", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAmxBf16, GemmF32Amx, 6, 256,
     false},
    {"avx512", CpuFeature::kAvx512, GemmF32Avx512, 0, 96, true},
    {"avx2", CpuFeature::kAvx2, GemmF32Avx2, 0, 96, true},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, GemmF32Neon, 0, 96, true},
#endif
    {"scalar", {}, GemmF32Scalar, 0, 96, true},
};

}  // namespace

std::size_t GemmF32ScratchBytes(const GemmF32Variant& variant, std::size_t m, std::size_t k) {
  return m * ((k + 31) / 32 * 32) * variant.scratch_per_input;
}

std::span<const GemmF32Variant> GemmF32Variants() { return kVariants; }

const GemmF32Variant& SelectGemmF32(CpuFeatures cpu) {
  const GemmF32Variant* v = kVariants;
  while (!cpu.Has(v->needs)) ++v;
  return *v;
}

}  // namespace lattice::kernels
