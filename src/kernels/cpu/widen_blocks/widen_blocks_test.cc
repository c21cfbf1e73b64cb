#include "kernels/cpu/widen_blocks/widen_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace lattice::kernels {
namespace {

constexpr Dtype kFormats[] = {Dtype::kQ4_0,  Dtype::kQ4_1, Dtype::kQ5_0,  Dtype::kQ5_1,
                              Dtype::kQ8_0,  Dtype::kQ2K,  Dtype::kQ3K,   Dtype::kQ4K,
                              Dtype::kQ5K,   Dtype::kQ6K,  Dtype::kIq4Nl, Dtype::kIq4Xs,
                              Dtype::kMxfp4, Dtype::kKhq4, Dtype::kKhq3};

TEST(WidenBlocksTest, EveryVariantHasTheBitsOfTheDefinition) {
  std::mt19937 rng(1);
  for (const Dtype dtype : kFormats) {
    const BlockLayout layout = LayoutOf(dtype);
    for (std::size_t n_blocks = 1; n_blocks <= 40; ++n_blocks) {
      // Any bytes: scales of every size, infinities and NaNs; at an odd address.
      std::vector<std::byte> bytes(n_blocks * layout.bytes + 1);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng());
      const std::span<const std::byte> blocks = std::span(bytes).subspan(1);
      std::vector<float> expected(n_blocks * layout.elements), values(expected.size());
      WidenToF32(dtype, blocks, expected);
      for (const WidenBlocksVariant& variant : WidenBlocksVariants()) {
        if (!CpuFeatures::Detect().Has(variant.needs)) continue;
        std::ranges::fill(values, -1.0f);
        variant.run(dtype, blocks.data(), values.size(), values.data());
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(expected[i]) && std::isnan(values[i])) continue;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]),
                    std::bit_cast<std::uint32_t>(expected[i]))
              << DtypeName(dtype) << " " << variant.name << " value " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
