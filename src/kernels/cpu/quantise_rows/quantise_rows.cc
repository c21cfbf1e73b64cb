#include "kernels/cpu/quantise_rows/quantise_rows.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr QuantiseRowVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, QuantiseRowAvx512},
    {"avx2", CpuFeature::kAvx2, QuantiseRowAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, QuantiseRowNeon},
#endif
    {"scalar", {}, QuantiseRowScalar},
};

}  // namespace

std::span<const QuantiseRowVariant> QuantiseRowVariants() { return kVariants; }

const QuantiseRowVariant& SelectQuantiseRow(CpuFeatures cpu) {
  return SelectVariant(QuantiseRowVariants(), cpu);
}

}  // namespace lattice::kernels
