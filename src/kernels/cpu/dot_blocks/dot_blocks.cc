#include "kernels/cpu/dot_blocks/dot_blocks.h"

#include <cstring>

#include "kernels/cpu/select.h"

namespace lattice::kernels {
namespace {

constexpr DotBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"amx_int8", CpuFeatures(CpuFeature::kAvx512) | CpuFeature::kAvx512Vnni | CpuFeature::kAmxInt8,
     DotBlocksAmxInt8, true},
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

void DotBlocksVariant::Suit(std::size_t group, std::int32_t zero, std::size_t k,
                            const BlockPanel& panel) const {
  const std::int32_t less = zero - Zero(group, zero);
  if (less == 0) return;
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  static_assert(kBlockPanelOutputs % sizeof(Bytes) == 0);
  for (std::size_t t = 0; t < k * kBlockPanelOutputs; t += sizeof(Bytes)) {
    Bytes v;
    std::memcpy(&v, panel.q + t, sizeof(v));
    v -= static_cast<std::uint8_t>(less);
    std::memcpy(panel.q + t, &v, sizeof(v));
  }
}

std::span<const DotBlocksVariant> DotBlocksVariants() { return kVariants; }

const DotBlocksVariant& SelectDotBlocks(CpuFeatures cpu) {
  return SelectVariant(DotBlocksVariants(), cpu);
}

}  // namespace lattice::kernels
