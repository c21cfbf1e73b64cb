#include "kernels/cpu/gemm_int8/gemm_int8.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr GemmInt8Variant kVariants[] = {
#if defined(__x86_64__)
    {"amx_int8", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni | CpuFeature::kAmxInt8,
     GemmInt8Amx, 4},
    {"avx512vnni", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni, GemmInt8Avx512Vnni,
     4},
    {"avxvnni", CpuFeatures(CpuFeature::kAvx2) | CpuFeature::kAvxVnni, GemmInt8AvxVnni, 4},
    {"avx2", CpuFeature::kAvx2, GemmInt8Avx2, 4, {2, WidenInt8InputsAvx2}},
#elif defined(__aarch64__)
    {"neon_i8mm", CpuFeature::kNeonI8mm, GemmInt8NeonI8mm, 8},
    {"neon_dotprod", CpuFeature::kNeonDotprod, GemmInt8NeonDotprod, 4},
    {"neon", CpuFeature::kNeon, GemmInt8Neon, 4},
#endif
    {"scalar", {}, GemmInt8Scalar, 4},
};

}  // namespace

std::span<const GemmInt8Variant> GemmInt8Variants() { return kVariants; }

const GemmInt8Variant& SelectGemmInt8(CpuFeatures cpu) {
  return SelectVariant(GemmInt8Variants(), cpu);
}

}  // namespace lattice::kernels
