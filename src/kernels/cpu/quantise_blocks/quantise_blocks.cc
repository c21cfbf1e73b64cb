#include "kernels/cpu/quantise_blocks/quantise_blocks.h"

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr QuantiseBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512", CpuFeature::kAvx512, QuantiseBlocksAvx512},
    {"avx2", CpuFeature::kAvx2, QuantiseBlocksAvx2},
#elif defined(__aarch64__)
    {"neon", CpuFeature::kNeon, QuantiseBlocksNeon},
#endif
    {"scalar", {}, QuantiseBlocksScalar},
};

}  // namespace

std::span<const QuantiseBlocksVariant> QuantiseBlocksVariants() { return kVariants; }

const QuantiseBlocksVariant& SelectQuantiseBlocks(CpuFeatures cpu) {
  return SelectVariant(QuantiseBlocksVariants(), cpu);
}

}  // namespace lattice::kernels
