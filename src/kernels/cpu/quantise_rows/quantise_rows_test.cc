#include "kernels/cpu/quantise_rows/quantise_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"

namespace lattice::kernels {
namespace {

struct Quantised {
  std::vector<std::uint8_t> q;
  float scale = -1;
  float zero = -1;
  bool operator==(const Quantised&) const = default;
};

Quantised Quantise(QuantiseRowFn run, const std::vector<float>& row) {
  const auto exact = std::make_unique<float[]>(row.size());  // A sanitizer sees any step outside.
  std::copy(row.begin(), row.end(), exact.get());
  AlignedBuffer q((row.size() + 63) / 64 * 64);
  Quantised result;
  run(exact.get(), row.size(), q.As<std::uint8_t>().data(), q.size(), &result.scale, &result.zero);
  const auto bytes = q.As<std::uint8_t>();
  result.q.assign(bytes.begin(), bytes.end());
  return result;
}

std::vector<float> Random(std::size_t n, unsigned seed, float mean, float size) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(mean, size);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

TEST(QuantiseRowsTest, EveryVariantGivesTheBitsOfScalar) {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!cpu.Has(variant.needs)) continue;
    for (std::size_t n = 1; n <= 260; ++n) {
      for (const float mean : {0.0f, 3.0f, -3.0f}) {
        for (const float size : {1.0f, 1e-20f, 1e30f}) {
          const auto row = Random(n, static_cast<unsigned>(n), mean * size, size);
          ASSERT_EQ(Quantise(variant.run, row), Quantise(QuantiseRowScalar, row))
              << variant.name << " " << n;
        }
      }
    }
  }
}

TEST(QuantiseRowsTest, ValuesAreWithinHalfAStep) {
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const float mean : {0.0f, 5.0f, -5.0f}) {
      const auto row = Random(384, 1, mean, 1.0f);
      const Quantised result = Quantise(variant.run, row);
      for (std::size_t t = 0; t < row.size(); ++t) {
        const float value = result.scale * (static_cast<float>(result.q[t]) - result.zero);
        // The zero is rounded as well, so that the largest value may be clamped by another half.
        EXPECT_NEAR(value, row[t], 1.001f * result.scale);
      }
      EXPECT_GE(result.zero, 0);
      EXPECT_LE(result.zero, 255);
    }
  }
}

TEST(QuantiseRowsTest, RowsWithoutSpreadAndRowsOfInfinitiesAreHarmless) {
  for (const QuantiseRowVariant& variant : QuantiseRowVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    const Quantised zeros = Quantise(variant.run, std::vector<float>(70, 0.0f));
    EXPECT_EQ(zeros.scale, 0.0f);
    EXPECT_EQ(zeros.zero, 0);
    const float infinity = std::numeric_limits<float>::infinity();
    const float largest = std::numeric_limits<float>::max();
    for (const std::vector<float>& row :
         {std::vector<float>{1, infinity, 2}, {-infinity, 1}, {largest, -largest}, {NAN, 1, 2}}) {
      const Quantised result = Quantise(variant.run, row);
      EXPECT_GE(result.zero, 0);
      EXPECT_LE(result.zero, 255);
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
