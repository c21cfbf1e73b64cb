#include "kernels/cpu/quantise_rows/quantise_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"

namespace lattice::kernels {
namespace {

using Floats = std::vector<float>;

struct Quantised {
  std::vector<std::uint8_t> q;
  float scale = -1;
  std::int32_t zero = -1;
  float outlier = -1;
  std::uint32_t outlier_at = 0;
  bool operator==(const Quantised&) const = default;
};

Quantised Quantise(QuantiseRowFn run, const Floats& row, const Floats& factors) {
  const auto exact = std::make_unique<float[]>(row.size());  // A sanitizer sees any step outside.
  const auto factor = std::make_unique<float[]>(row.size());
  std::copy(row.begin(), row.end(), exact.get());
  std::copy(factors.begin(), factors.end(), factor.get());
  AlignedBuffer q((row.size() + 63) / 64 * 64);
  Int8Row info{};
  run(exact.get(), factor.get(), row.size(), q.As<std::uint8_t>().data(), q.size(), &info);
  const auto bytes = q.As<std::uint8_t>();
  return {{bytes.begin(), bytes.end()}, info.scale, info.zero, info.outlier, info.outlier_at};
}

Floats Random(std::size_t n, unsigned seed, float mean, float size) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(mean, size);
  Floats values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

TEST(QuantiseRowsTest, EveryVariantGivesTheBitsOfScalar) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!cpu.Has(variant.needs)) continue;
    for (std::size_t n = 1; n <= 260; ++n) {
      const Floats factors = Random(n, 7, 1.0f, 0.3f);
      for (const float mean : {0.0f, 3.0f, -3.0f}) {
        for (const float size : {1.0f, 1e-20f, 1e30f}) {
          Floats row = Random(n, static_cast<unsigned>(n), mean * size, size);
          ASSERT_EQ(Quantise(variant.run, row, factors), Quantise(QuantiseRowScalar, row, factors))
              << variant.name << " " << n;
          // Equal extremes: which one is the outlier is part of the definition.
          const Floats ones(n, 1.0f);
          for (float& v : row) v = std::round(v / size) * size;
          ASSERT_EQ(Quantise(variant.run, row, ones), Quantise(QuantiseRowScalar, row, ones))
              << variant.name << " " << n;
        }
      }
    }
  }
}

TEST(QuantiseRowsTest, ValuesAreWithinAStepAndTheOutlierIsExact) {
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const float mean : {0.0f, 5.0f, -5.0f}) {
      for (const float outlier : {500.0f, -500.0f}) {
        Floats row = Random(384, 1, mean, 1.0f);
        row[100] = outlier;
        const Quantised result = Quantise(variant.run, row, Floats(384, 2.0f));
        EXPECT_EQ(result.outlier_at, 100u);
        EXPECT_EQ(result.outlier, 2 * outlier);
        EXPECT_EQ(result.q[100], result.zero);
        EXPECT_LT(result.scale, 2 * 10.0f / 255);
        for (std::size_t t = 0; t < row.size(); ++t) {
          if (t == 100) continue;
          const float value = result.scale * static_cast<float>(result.q[t] - result.zero);
          // Half a step; the zero is rounded as well, so the extreme may be clamped by another
          // half.
          EXPECT_NEAR(value, 2 * row[t], 1.001f * result.scale);
        }
      }
    }
  }
}

TEST(QuantiseRowsTest, RowsWithoutSpreadAndRowsOfInfinitiesAreHarmless) {
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    const Quantised zeros = Quantise(variant.run, Floats(70, 0.0f), Floats(70, 1.0f));
    EXPECT_EQ(zeros.scale, 0.0f);
    EXPECT_EQ(zeros.zero, 0);
    EXPECT_EQ(zeros.outlier, 0.0f);
    const float infinity = std::numeric_limits<float>::infinity();
    const float largest = std::numeric_limits<float>::max();
    for (const Floats& row : {Floats{1, infinity, 2},
                              {-infinity, infinity},
                              {largest, -largest},
                              {NAN, 1, 2},
                              {NAN, NAN}}) {
      const Quantised result = Quantise(variant.run, row, Floats(row.size(), 1.0f));
      EXPECT_GE(result.zero, 0);
      EXPECT_LE(result.zero, 255);
      EXPECT_LT(result.outlier_at, row.size());
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
