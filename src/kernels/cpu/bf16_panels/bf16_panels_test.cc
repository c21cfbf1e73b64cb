#include "kernels/cpu/bf16_panels/bf16_panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/stored/random_weights.h"
#include "numeric/dtype.h"
#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

class Bf16PanelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fns_ = FindBf16Panels(CpuFeatures::Detect());
    if (fns_ == nullptr) GTEST_SKIP() << "this processor has no bf16 tiles";
  }
  const Bf16PanelsFns* fns_ = nullptr;
};

// n rows of weights in blocks, packed and expanded, with their values rounded to bf16.
struct Weights {
  Weights(const Bf16PanelsFns& fns, Dtype type, std::size_t n_rows, std::size_t inputs,
          std::uint32_t seed)
      : dtype(type), n(n_rows), k(inputs), source(type, n_rows, inputs, seed) {
    const PackedFormat format = PackedFormatOf(dtype);
    const std::size_t n_panels = (n + kBlockPanelOutputs - 1) / kBlockPanelOutputs;
    const std::size_t row_bytes = StorageBytes(dtype, k);
    panel_bytes = PackedPanelBytes(format, k);
    unpack =
        SelectPackedBlocks(CpuFeatures::Detect()).run->unpack[static_cast<std::size_t>(format)];
    form = BlockFormOf(format);
    packed = AlignedBuffer(n_panels * panel_bytes);
    expanded = AlignedBuffer(n_panels * k * kBlockPanelOutputs * sizeof(std::uint16_t));
    AlignedBuffer small(k * kBlockPanelOutputs * 9);
    for (std::size_t p = 0; p < n_panels; ++p) {
      std::vector<const std::byte*> rows;
      for (std::size_t j = p * kBlockPanelOutputs; j < std::min(n, (p + 1) * kBlockPanelOutputs);
           ++j) {
        rows.push_back(source.tensor().bytes.data() + j * row_bytes);
      }
      PackPanel(dtype, rows, k, packed.data() + p * panel_bytes);
      BlockPanel panel;
      panel.q = reinterpret_cast<std::uint8_t*>(small.data());
      panel.scale = reinterpret_cast<float*>(small.data() + k * kBlockPanelOutputs);
      panel.min = panel.scale + k / 16 * kBlockPanelOutputs;
      unpack(packed.data() + p * panel_bytes, k, panel);
      auto* to = reinterpret_cast<std::uint16_t*>(expanded.data()) + p * k * kBlockPanelOutputs;
      fns.expand(panel, form, k, to);
      panels.push_back(to);
    }
    values = source.Values();
  }

  std::uint16_t ExpandedAt(std::size_t j, std::size_t t) const {
    return panels[j / kBlockPanelOutputs]
                 [(t / 2 * kBlockPanelOutputs + j % kBlockPanelOutputs) * 2 + t % 2];
  }

  Dtype dtype;
  std::size_t n, k, panel_bytes = 0;
  RandomWeights source;
  AlignedBuffer packed, expanded;
  std::vector<const std::uint16_t*> panels;
  UnpackPackedFn unpack = nullptr;
  BlockForm form;
  std::vector<float> values;  // [n, k]
};

std::vector<std::uint16_t> RandomRows(std::size_t m, std::size_t k, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> x(m * k);
  for (std::uint16_t& v : x) v = F32ToBf16(normal(random));
  return x;
}

TEST_F(Bf16PanelsTest, ExpandsToTheRoundedWeights) {
  for (const Dtype dtype : kBlockDtypes) {
    for (const std::size_t n : {1u, 16u, 37u}) {
      const Weights w(*fns_, dtype, n, 768, 3);
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t t = 0; t < w.k; ++t) {
          // The format's own definition may round once more than q * scale + min does.
          const float want = w.values[j * w.k + t], got = Bf16ToF32(w.ExpandedAt(j, t));
          ASSERT_NEAR(got, want, std::abs(want) / 255 + 1e-6f)
              << DtypeName(dtype) << " row " << j << " input " << t;
        }
      }
    }
  }
}

TEST_F(Bf16PanelsTest, MultipliesExpandedWeights) {
  for (const std::size_t n : {1u, 15u, 16u, 17u, 32u, 48u, 50u}) {
    const Weights w(*fns_, Dtype::kQ4K, n, 768, 5);
    for (const std::size_t m : {1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 48u}) {
      const std::vector<std::uint16_t> x = RandomRows(m, w.k, 7);
      std::vector<float> y(m * 64, -1.0f);
      fns_->dot({.x = x.data(),
                 .x_stride = w.k,
                 .m = m,
                 .w = w.panels.data(),
                 .n = n,
                 .k = w.k,
                 .y = y.data(),
                 .y_stride = 64});
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < 64; ++j) {
          if (j >= n) {
            ASSERT_EQ(y[i * 64 + j], -1.0f);
            continue;
          }
          double want = 0, size = 0;
          for (std::size_t t = 0; t < w.k; ++t) {
            const double product = static_cast<double>(Bf16ToF32(x[i * w.k + t])) *
                                   static_cast<double>(Bf16ToF32(w.ExpandedAt(j, t)));
            want += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(y[i * 64 + j], want, 1e-5 * size) << m << " rows, output " << j;
        }
      }
    }
  }
}

TEST_F(Bf16PanelsTest, ARowHasTheSameBitsAloneAndFromPackedWeights) {
  for (const Dtype dtype : kBlockDtypes) {
    const std::size_t k = 1280, m = 33, n = 40;
    const Weights w(*fns_, dtype, n, k, 11);
    const std::vector<std::uint16_t> x = RandomRows(m, k, 13);
    std::vector<float> all(m * n), alone(n), packed(n);
    fns_->dot({.x = x.data(),
               .x_stride = k,
               .m = m,
               .w = w.panels.data(),
               .n = n,
               .k = k,
               .y = all.data(),
               .y_stride = n});
    AlignedBuffer scratch(kBf16PieceBytes);
    for (std::size_t i = 0; i < m; ++i) {
      fns_->dot({.x = x.data() + i * k,
                 .x_stride = k,
                 .m = 1,
                 .w = w.panels.data(),
                 .n = n,
                 .k = k,
                 .y = alone.data(),
                 .y_stride = n});
      fns_->multiply_packed(
          {.x = x.data() + i * k,
           .x_stride = k,
           .m = 1,
           .panels = w.packed.data(),
           .panel_bytes = w.panel_bytes,
           .piece_bytes = PackedPanelBytes(PackedFormatOf(dtype), kBf16PieceInputs),
           .unpack = w.unpack,
           .form = w.form,
           .scratch = scratch.data(),
           .n = n,
           .k = k,
           .y = packed.data(),
           .y_stride = n});
      const std::vector<float> want(all.begin() + static_cast<std::ptrdiff_t>(i * n),
                                    all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
      ASSERT_EQ(alone, want) << DtypeName(dtype);
      ASSERT_EQ(packed, want) << DtypeName(dtype);
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
