#include "kernels/cpu/widen_blocks/widen_blocks.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr WidenBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, WidenBlocksAvx512},
    {"avx2", CpuFeature::kAvx2, WidenBlocksAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, WidenBlocksNeon},
#endif
    {"scalar", {}, WidenBlocksScalar},
};

}  // namespace

std::span<const WidenBlocksVariant> WidenBlocksVariants() { return kVariants; }

const WidenBlocksVariant& SelectWidenBlocks(CpuFeatures cpu) {
  return SelectVariant(WidenBlocksVariants(), cpu);
}

}  // namespace lattice::kernels
