#include "kernels/cpu/quantise_blocks/quantise_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/stored/random_weights.h"

namespace lattice::kernels {
namespace {

TEST(QuantiseBlocksTest, EveryVariantGivesTheBitsOfScalarAndStepsAreHalved) {
  constexpr std::size_t kInputs = 96;
  struct Row {
    std::vector<std::int8_t> q = std::vector<std::int8_t>(kInputs);
    std::vector<float> scale = std::vector<float>(kInputs / kInputBlock), offset = scale;
    std::vector<std::int32_t> sums = std::vector<std::int32_t>(kInputs / kInputBlock);
    std::vector<std::int32_t> half_sums = std::vector<std::int32_t>(kInputs / 16);
    bool operator==(const Row&) const = default;
  };
  const auto run = [](QuantiseBlocksFn fn, const std::vector<float>& x) {
    Row row;
    fn(x.data(), kInputs,
       {row.q.data(), row.scale.data(), row.offset.data(), row.sums.data(), row.half_sums.data()});
    return row;
  };
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::vector<float> x = RandomFloats(kInputs, seed);
    const float size = seed % 3 == 0 ? 1e-20f : seed % 3 == 1 ? 1.0f : 1e30f;
    for (float& v : x) v *= size;
    std::fill_n(x.begin() + 32, 32, seed % 2 == 0 ? 0.0f : 1e-35f);
    const Row want = run(QuantiseBlocksScalar, x);
    for (const QuantiseBlocksVariant& variant : QuantiseBlocksVariants()) {
      if (!CpuFeatures::Detect().Has(variant.needs)) continue;
      EXPECT_EQ(run(variant.run, x), want) << variant.name;
    }
    EXPECT_EQ(want.scale[1], 0.0f);
    for (std::size_t t = 0; t < kInputs; ++t) {
      const float scale = want.scale[t / kInputBlock];
      ASSERT_NEAR(scale * static_cast<float>(want.q[t]), x[t], 0.5001f * scale + 1e-34f);
    }
    for (std::size_t h = 0; h < want.half_sums.size(); ++h) {
      std::int32_t sum = 0;
      for (std::size_t t = 16 * h; t < 16 * (h + 1); ++t) sum += want.q[t];
      EXPECT_EQ(want.half_sums[h], sum);
    }
    for (std::size_t b = 0; b < want.sums.size(); ++b) {
      EXPECT_EQ(want.sums[b], want.half_sums[2 * b] + want.half_sums[2 * b + 1]);
      EXPECT_EQ(want.offset[b], want.scale[b] * static_cast<float>(want.sums[b]));
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
