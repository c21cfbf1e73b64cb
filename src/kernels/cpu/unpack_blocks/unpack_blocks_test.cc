#include "kernels/cpu/unpack_blocks/unpack_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/quantise_blocks/quantise_blocks.h"
#include "kernels/cpu/stored/random_weights.h"

namespace lattice::kernels {
namespace {

// Sixteen rows as a panel in memory of its own.
struct Panel {
  Panel(Dtype dtype, const RandomWeights& weights, UnpackBlocksFn unpack) {
    const HostTensor tensor = weights.tensor();
    k = tensor.cols;
    form = BlockFormOf(dtype);
    q = AlignedBuffer(k * kBlockPanelOutputs);
    scale = AlignedBuffer(k / form.group * 64);
    min = AlignedBuffer(k / form.group * 64);
    std::ranges::fill(min.As<float>(), 0.0f);
    std::array<const std::byte*, 2 * kBlockPanelOutputs> rows;
    for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
      rows[r] = rows[kBlockPanelOutputs + r] = tensor.bytes.data() + r * StorageBytes(dtype, k);
    }
    unpack(rows.data(), k,
           {q.As<std::uint8_t>().data(), scale.As<float>().data(), min.As<float>().data()});
  }

  float Weight(std::size_t r, std::size_t t) const {
    const std::size_t at = t / form.group * kBlockPanelOutputs + r;
    const int value = q.As<std::uint8_t>()[(t / 4 * kBlockPanelOutputs + r) * 4 + t % 4];
    const float product = scale.As<float>()[at] * static_cast<float>(value - form.zero);
    return form.has_min ? product + min.As<float>()[at] : product;
  }
  bool operator==(const Panel& other) const {
    return std::ranges::equal(q.As<std::byte>(), other.q.As<std::byte>()) &&
           std::ranges::equal(scale.As<float>(), other.scale.As<float>()) &&
           std::ranges::equal(min.As<float>(), other.min.As<float>());
  }

  std::size_t k;
  BlockForm form;
  AlignedBuffer q, scale, min;
};

TEST(UnpackBlocksTest, PanelsHoldTheWeightsOfTheFormatsDefinition) {
  constexpr std::size_t kInputs = 768;
  for (const Dtype dtype : kBlockDtypes) {
    const RandomWeights weights(dtype, kBlockPanelOutputs, kInputs, 3);
    const Panel panel(dtype, weights, PlainUnpackBlocks(dtype));
    const std::vector<float> want = weights.Values();
    for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
      for (std::size_t t = 0; t < kInputs; ++t) {
        ASSERT_EQ(panel.Weight(r, t), want[r * kInputs + t])
            << DtypeName(dtype) << " " << r << " " << t;
      }
    }
  }
}

TEST(UnpackBlocksTest, EveryInstructionSetGivesThePlainPanel) {
  for (const UnpackBlocksVariant& variant : UnpackBlocksVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const Dtype dtype : kBlockDtypes) {
      for (const std::size_t n_blocks : {1, 2, 5}) {
        const std::size_t inputs = n_blocks * LayoutOf(dtype).elements;
        const RandomWeights weights(dtype, kBlockPanelOutputs, inputs, 4);
        EXPECT_EQ(Panel(dtype, weights, SelectUnpackBlocks(dtype, variant.needs)),
                  Panel(dtype, weights, PlainUnpackBlocks(dtype)))
            << variant.name << " " << DtypeName(dtype) << " " << inputs;
      }
    }
  }
}

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
