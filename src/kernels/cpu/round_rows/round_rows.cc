#include "kernels/cpu/round_rows/round_rows.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr RoundRowVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, RoundRowAvx512},
    {"avx2", CpuFeature::kAvx2, RoundRowAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, RoundRowNeon},
#endif
    {"scalar", {}, RoundRowScalar},
};

}  // namespace

std::span<const RoundRowVariant> RoundRowVariants() { return kVariants; }

const RoundRowVariant& SelectRoundRow(CpuFeatures cpu) {
  return SelectVariant(RoundRowVariants(), cpu);
}

}  // namespace lattice::kernels
