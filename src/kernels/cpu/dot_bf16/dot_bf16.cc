#include "kernels/cpu/dot_bf16/dot_bf16.h"

#include <array>

namespace lattice::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::array kVariants = {
    DotBf16Variant{"amx_bf16", CpuFeature::kAmxBf16, DotBf16Amx, true, &kDotBf16ManyAmx},
    DotBf16Variant{"avx512bf16", CpuFeature::kAvx512Bf16, DotBf16Avx512Bf16, false,
                   &kDotBf16ManyAvx512},
};
#elif defined(__aarch64__)
constexpr std::array kVariants = {
    DotBf16Variant{"neon_bf16", CpuFeature::kNeonBf16, DotBf16NeonBf16, false},
};
#else
constexpr std::array<DotBf16Variant, 0> kVariants = {};
#endif

}  // namespace

std::span<const DotBf16Variant> DotBf16Variants() { return kVariants; }

const DotBf16Variant* FindDotBf16(CpuFeatures cpu) {
  for (const DotBf16Variant& variant : kVariants) {
    if (cpu.Has(variant.needs)) return &variant;
  }
  return nullptr;
}

}  // namespace lattice::kernels
