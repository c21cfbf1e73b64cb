#include "kernels/cpu/gemm_f32/gemm_f32.h"

namespace lattice::kernels {
namespace {

constexpr GemmF32Variant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, GemmF32Avx512},
    {"avx2", CpuFeature::kAvx2, GemmF32Avx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, GemmF32Neon},
#endif
    {"scalar", {}, GemmF32Scalar},
};

}  // namespace

std::span<const GemmF32Variant> GemmF32Variants() { return kVariants; }

const GemmF32Variant& SelectGemmF32(CpuFeatures cpu) {
  const GemmF32Variant* v = kVariants;
  while (!cpu.Has(v->needs)) ++v;
  return *v;
}

}  // namespace lattice::kernels
