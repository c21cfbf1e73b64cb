#include "kernels/cpu/packed_blocks/packed_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/dot_blocks/dot_blocks.h"
#include "kernels/cpu/stored/random_weights.h"

namespace lattice::kernels {
namespace {

// Panels of a matrix, packed, in memory of exactly their size.
struct Packed {
  explicit Packed(const HostTensor& tensor)
      : format(PackedFormatOf(tensor.dtype)),
        k(tensor.cols),
        panel_bytes(PackedPanelBytes(format, k)),
        n_panels((tensor.rows + kBlockPanelOutputs - 1) / kBlockPanelOutputs),
        bytes(n_panels * panel_bytes) {
    const std::size_t row_bytes = StorageBytes(tensor.dtype, k);
    std::ranges::fill(bytes.As<std::byte>(), std::byte{0xFF});
    for (std::size_t p = 0; p < n_panels; ++p) {
      std::vector<const std::byte*> rows;
      for (std::size_t r = 16 * p; r < std::min(16 * (p + 1), tensor.rows); ++r) {
        rows.push_back(tensor.bytes.data() + r * row_bytes);
      }
      PackPanel(tensor.dtype, rows, k, bytes.data() + p * panel_bytes);
    }
  }
  PackedFormat format;
  std::size_t k, panel_bytes, n_panels;
  AlignedBuffer bytes;
};

// All panels as small integers.
struct Panels {
  Panels(const Packed& packed, const PackedBlocksFns& fns) : form(BlockFormOf(packed.format)) {
    const std::size_t n = packed.n_panels * kBlockPanelOutputs;
    q = AlignedBuffer(packed.k * n);
    scale = AlignedBuffer(packed.k / form.group * n * sizeof(float));
    min = AlignedBuffer(scale.size());
    std::ranges::fill(min.As<float>(), 0.0f);
    const std::size_t per_panel = packed.k / form.group * kBlockPanelOutputs;
    for (std::size_t p = 0; p < packed.n_panels; ++p) {
      panels.push_back({q.As<std::uint8_t>().data() + p * packed.k * kBlockPanelOutputs,
                        scale.As<float>().data() + p * per_panel,
                        min.As<float>().data() + p * per_panel});
      fns.unpack[static_cast<std::size_t>(packed.format)](
          packed.bytes.data() + p * packed.panel_bytes, packed.k, panels.back());
    }
  }
  float Weight(std::size_t row, std::size_t t) const {
    const BlockPanel& panel = panels[row / 16];
    const std::size_t at = t / form.group * kBlockPanelOutputs + row % 16;
    const int value = panel.q[(t / 4 * kBlockPanelOutputs + row % 16) * 4 + t % 4];
    const float product = panel.scale[at] * static_cast<float>(value - form.zero);
    return form.has_min ? product + panel.min[at] : product;
  }
  bool operator==(const Panels& other) const {
    return std::ranges::equal(q.As<std::byte>(), other.q.As<std::byte>()) &&
           std::ranges::equal(scale.As<float>(), other.scale.As<float>()) &&
           std::ranges::equal(min.As<float>(), other.min.As<float>());
  }
  BlockForm form;
  AlignedBuffer q, scale, min;
  std::vector<BlockPanel> panels;
};

// Rows of x in blocks.
struct Inputs {
  Inputs(std::size_t m, std::size_t k)
      : q(m * Stride(k)),
        scale(m * k / 32),
        offset(m * k / 32),
        sums(m * k / 32),
        half_sums(m * k / 16) {
    const std::vector<float> x = RandomFloats(m * k, 7);
    for (std::size_t i = 0; i < m; ++i) {
      const std::size_t at = i * k / 32;
      QuantiseBlocksScalar(x.data() + i * k, k,
                           {q.As<std::int8_t>().data() + i * Stride(k), scale.data() + at,
                            offset.data() + at, sums.data() + at, half_sums.data() + 2 * at});
    }
    rows = {.q = q.As<std::int8_t>().data(),
            .q_stride = Stride(k),
            .scale = scale.data(),
            .offset = offset.data(),
            .sums = sums.data(),
            .half_sums = half_sums.data(),
            .n_blocks = k / 32};
  }
  static std::size_t Stride(std::size_t k) { return (k + 63) / 64 * 64; }
  AlignedBuffer q;
  std::vector<float> scale, offset;
  std::vector<std::int32_t> sums, half_sums;
  QuantisedRows rows;
};

std::vector<float> Dot(const DotBlocksVariant& variant, const Inputs& x, std::size_t m,
                       const Packed& packed, std::size_t n) {
  const Panels w(packed, kPackedBlocksScalar);
  for (const BlockPanel& panel : w.panels) {
    variant.Suit(w.form.group, w.form.zero, packed.k, panel);
  }
  std::vector<float> y(m * n);
  variant.run({.x = x.rows,
               .m = m,
               .w = w.panels.data(),
               .n = n,
               .group = w.form.group,
               .zero = variant.Zero(w.form.group, w.form.zero),
               .has_min = w.form.has_min,
               .k = packed.k,
               .y = y.data(),
               .y_stride = n});
  return y;
}

void ExpectDotBlocksVariantsAgree(const Packed& packed, const Inputs& x, std::size_t m,
                                  std::size_t n, const std::vector<float>& want) {
  for (const DotBlocksVariant& variant : DotBlocksVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    ASSERT_EQ(Dot(variant, x, m, packed, n), want)
        << variant.name << " k " << packed.k << " n " << n << " m " << m;
  }
}

std::vector<PackedBlocksVariant> Variants() {
  std::vector<PackedBlocksVariant> here;
  for (const PackedBlocksVariant& variant : PackedBlocksVariants()) {
    if (CpuFeatures::Detect().Has(variant.needs)) here.push_back(variant);
  }
  return here;
}

TEST(PackedBlocksTest, PanelsHoldTheWeightsOfTheFormatsDefinition) {
  constexpr std::size_t kRows = 37;
  for (const Dtype dtype : kBlockDtypes) {
    const std::size_t inputs = LayoutOf(dtype).elements == 256 ? 768 : 608;
    const RandomWeights weights(dtype, kRows, inputs, 3);
    const Panels panels(Packed(weights.tensor()), kPackedBlocksScalar);
    const std::vector<float> want = weights.Values();
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t t = 0; t < inputs; ++t) {
        ASSERT_EQ(panels.Weight(r, t), want[r * inputs + t])
            << DtypeName(dtype) << " " << r << " " << t;
      }
    }
    // Outputs that do not exist.
    EXPECT_EQ(panels.panels[2].scale[15], dtype == Dtype::kMxfp4 ? 0x1p-128f : 0.0f);
  }
}

TEST(PackedBlocksTest, EveryExponentOfMxfp4IsExact) {
  for (unsigned e = 0; e < 256; ++e) {
    RandomWeights weights(Dtype::kMxfp4, 16, 32, 3);
    std::vector<std::byte> bytes(weights.tensor().bytes.begin(), weights.tensor().bytes.end());
    for (std::size_t r = 0; r < 16; ++r) bytes[r * 17] = static_cast<std::byte>(e);
    HostTensor tensor = weights.tensor();
    tensor.bytes = bytes;
    const Packed packed(tensor);
    const Panels want(packed, kPackedBlocksScalar);
    for (const PackedBlocksVariant& variant : Variants()) {
      EXPECT_EQ(Panels(packed, *variant.run), want) << variant.name << " " << e;
    }
  }
}

TEST(PackedBlocksTest, PackedWeightsTakeHardlyMoreMemoryThanTheFile) {
  for (const Dtype dtype : kBlockDtypes) {
    const auto file = static_cast<double>(StorageBytes(dtype, std::size_t{16} * 1024));
    const auto packed = static_cast<double>(PackedPanelBytes(PackedFormatOf(dtype), 1024));
    EXPECT_LE(packed / file, dtype == Dtype::kQ3K ? 1.055 : 1.03) << DtypeName(dtype);
  }
}

TEST(PackedBlocksTest, EveryVariantGivesTheBitsOfScalar) {
  for (const Dtype dtype : kBlockDtypes) {
    for (const std::size_t n_blocks : {1, 2, 5, 8, 9, 31}) {
      const std::size_t k = n_blocks * LayoutOf(dtype).elements;
      for (const std::size_t n : {1, 15, 16, 17, 50}) {
        const RandomWeights weights(dtype, n, k, 4);
        const Packed packed(weights.tensor());
        const Panels panels(packed, kPackedBlocksScalar);
        for (const PackedBlocksVariant& variant : Variants()) {
          ASSERT_EQ(Panels(packed, *variant.run), panels) << variant.name << DtypeName(dtype);
        }
        for (const std::size_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 19}) {
          if (m > 4 && n != 17) continue;
          const Inputs x(m, k);
          const std::vector<float> want = Dot(DotBlocksVariants().back(), x, m, packed, n);
          SCOPED_TRACE(DtypeName(dtype));
          ExpectDotBlocksVariantsAgree(packed, x, m, n, want);
          for (const PackedBlocksVariant& variant : Variants()) {
            const auto multiply = variant.run->multiply[static_cast<std::size_t>(packed.format)];
            if (multiply == nullptr || m > kPackedProductRows) continue;
            std::vector<float> y(m * n);
            multiply({.x = x.rows,
                      .m = m,
                      .panels = packed.bytes.data(),
                      .n = n,
                      .k = k,
                      .y = y.data(),
                      .y_stride = n});
            ASSERT_EQ(y, want) << variant.name << " " << DtypeName(dtype) << " k " << k << " n "
                               << n << " m " << m;
          }
        }
      }
    }
  }
}

TEST(PackedBlocksTest, RowsOfAnyLengthAreAddedAlike) {
  constexpr std::size_t kLongRow = 9632;
  for (const Dtype dtype : {Dtype::kQ4_0, Dtype::kQ5_1}) {
    const RandomWeights weights(dtype, 17, kLongRow, 4);
    const Packed packed(weights.tensor());
    for (const std::size_t m : {1, 18}) {
      const Inputs x(m, kLongRow);
      const std::vector<float> want = Dot(DotBlocksVariants().back(), x, m, packed, 17);
      SCOPED_TRACE(DtypeName(dtype));
      ExpectDotBlocksVariantsAgree(packed, x, m, 17, want);
    }
  }
}

// Products are added in integers of 16 bits by some variants.
TEST(PackedBlocksTest, TheLargestProductsAreExact) {
  constexpr std::size_t kInputs = 64, kRows = 5;
  const struct {
    std::int32_t zero;
    int largest;
  } kinds[] = {{0, 31}, {4, 7}, {8, 15}, {16, 31}, {32, 63}, {128, 255}};
  for (const auto& kind : kinds) {
    for (const std::size_t group : {16, 32}) {
      for (const int weight : {0, kind.largest}) {
        AlignedBuffer q(kInputs * kBlockPanelOutputs);
        AlignedBuffer scale(kInputs / group * kBlockPanelOutputs * sizeof(float));
        std::ranges::fill(scale.As<float>(), 1.0f);
        const BlockPanel panel = {q.As<std::uint8_t>().data(), scale.As<float>().data(), nullptr};
        for (const int value : {-127, 127}) {
          AlignedBuffer x(kRows * kInputs);
          std::ranges::fill(x.As<std::int8_t>(), static_cast<std::int8_t>(value));
          constexpr std::size_t kBlocks = kInputs / kInputBlock;
          const std::vector<float> x_scale(kRows * kBlocks, 1.0f), offset(kRows * kBlocks);
          const std::vector<std::int32_t> sums(kRows * kBlocks, 32 * value),
              half_sums(2 * kRows * kBlocks, 16 * value);
          const float want = static_cast<float>(static_cast<int>(kInputs) * value *
                                                (weight - static_cast<int>(kind.zero)));
          for (const DotBlocksVariant& variant : DotBlocksVariants()) {
            if (!CpuFeatures::Detect().Has(variant.needs)) continue;
            std::ranges::fill(q.As<std::uint8_t>(), static_cast<std::uint8_t>(weight));
            variant.Suit(group, kind.zero, kInputs, panel);
            std::vector<float> y(kRows * kBlockPanelOutputs);
            variant.run({.x = {x.As<std::int8_t>().data(), kInputs, x_scale.data(), offset.data(),
                               sums.data(), half_sums.data(), kBlocks},
                         .m = kRows,
                         .w = &panel,
                         .n = kBlockPanelOutputs,
                         .group = group,
                         .zero = variant.Zero(group, kind.zero),
                         .k = kInputs,
                         .y = y.data(),
                         .y_stride = kBlockPanelOutputs});
            EXPECT_EQ(y, std::vector<float>(y.size(), want))
                << variant.name << " zero " << kind.zero << " weight " << weight;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
