#include "kernels/cpu/packed_blocks/packed_blocks.h"

#include "kernels/cpu/packed_blocks/packed_layout.inl"
#include "kernels/cpu/select.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr PackedBlocksVariant kVariants[] = {
#if defined(__x86_64__)
    {"avx512vnni", CpuFeature::kAvx512Vnni, &kPackedBlocksAvx512Vnni},
    {"avxvnni", CpuFeature::kAvxVnni, &kPackedBlocksAvxVnni},
    {"avx2", CpuFeature::kAvx2, &kPackedBlocksAvx2},
#elif defined(__aarch64__)
    {"neon_dotprod", CpuFeature::kNeonDotprod, &kPackedBlocksNeonDotprod},
    {"neon", CpuFeature::kNeon, &kPackedBlocksNeon},
#endif
    {"scalar", {}, &kPackedBlocksScalar},
};

}  // namespace

std::span<const PackedBlocksVariant> PackedBlocksVariants() { return kVariants; }

const PackedBlocksVariant& SelectPackedBlocks(CpuFeatures cpu) {
  return SelectVariant(PackedBlocksVariants(), cpu);
}

PackedFormat PackedFormatOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0:
      return PackedFormat::kQ4_0;
    case Dtype::kQ4_1:
    case Dtype::kKhq4:
      return PackedFormat::kQ4_1;
    case Dtype::kQ5_0:
      return PackedFormat::kQ5_0;
    case Dtype::kQ5_1:
      return PackedFormat::kQ5_1;
    case Dtype::kQ8_0:
      return PackedFormat::kQ8_0;
    case Dtype::kQ2K:
      return PackedFormat::kQ2K;
    case Dtype::kQ3K:
      return PackedFormat::kQ3K;
    case Dtype::kQ4K:
      return PackedFormat::kQ4K;
    case Dtype::kQ5K:
      return PackedFormat::kQ5K;
    case Dtype::kQ6K:
      return PackedFormat::kQ6K;
    case Dtype::kIq4Nl:
      return PackedFormat::kIq4Nl;
    case Dtype::kIq4Xs:
      return PackedFormat::kIq4Xs;
    case Dtype::kMxfp4:
      return PackedFormat::kMxfp4;
    case Dtype::kKhq3:
      return PackedFormat::kQ3_1;
    default:
      internal::CheckFailed("block format", __FILE__, __LINE__);
  }
}

BlockForm BlockFormOf(PackedFormat format) {
  const PackedLayout layout = LayoutOf(format);
  return {.group = kCellInputs / CellGroups(layout.scales),
          .zero = static_cast<std::int32_t>(layout.zero),
          .has_min = HasMin(layout.scales)};
}

std::size_t PackedPanelBytes(PackedFormat format, std::size_t k) {
  return PanelBytes(LayoutOf(format), k);
}

}  // namespace lattice::kernels
