#include "kernels/cpu/dot_blocks/dot_blocks.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr DotBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"amx_int8", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni | CpuFeature::kAmxInt8,
     DotBlocksAmxInt8},
    {"avx512vnni", CpuFeature::kAvx512Vnni, DotBlocksAvx512Vnni},
    {"avxvnni", CpuFeature::kAvxVnni, DotBlocksAvxVnni},
    {"avx2", CpuFeature::kAvx2, DotBlocksAvx2},
#elif defined(__aarch64__)
    {"neon_dotprod", CpuFeature::kNeonDotprod, DotBlocksNeonDotprod},
    {"neon", CpuFeature::kNeon, DotBlocksNeon},
#endif
    {"scalar", {}, DotBlocksScalar},
};

}  // namespace

std::span<const DotBlocksVariant> DotBlocksVariants() { return kVariants; }

const DotBlocksVariant& SelectDotBlocks(CpuFeatures cpu) {
  return SelectVariant(DotBlocksVariants(), cpu);
}

}  // namespace lattice::kernels
