#include "numeric/quantise_super_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "numeric/dtype.h"
#include "numeric/quantise_blocks.h"

namespace lattice {
namespace {

constexpr Dtype kDtypes[] = {Dtype::kQ4K, Dtype::kQ5K, Dtype::kQ6K};

std::vector<float> BackFrom(Dtype dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(StorageBytes(dtype, values.size()));
  QuantiseBlocks(dtype, values, bytes);
  std::vector<float> back(values.size());
  WidenToF32(dtype, bytes, back);
  return back;
}

double RelativeError(const std::vector<float>& values, const std::vector<float>& back) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(static_cast<double>(back[i] - values[i]), 2);
    size += std::pow(static_cast<double>(values[i]), 2);
  }
  return std::sqrt(error / size);
}

std::vector<float> Normal(std::size_t n, float spread, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// The largest of 32 normal values, and the largest magnitude of 16, is about 2.1 sigma. A step over
// twice that costs step / sqrt(12) if codes are nearest; a good search stays below, a bad one (a
// scale off by a tenth, codes off by one) does not.
TEST(QuantiseSuperBlocksTest, ErrorOfNormalValuesIsBelowThatOfUniformSteps) {
  const double bounds[] = {4.2 / 15 / std::sqrt(12.0), 4.2 / 31 / std::sqrt(12.0),
                           4.2 / 64 / std::sqrt(12.0)};
  for (const float spread : {1.0f, 0.02f, 1000.0f}) {
    const std::vector<float> values = Normal(256 * 100, spread, 5);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LT(RelativeError(values, BackFrom(kDtypes[i], values)), bounds[i])
          << DtypeName(kDtypes[i]) << " spread " << spread;
    }
  }
}

TEST(QuantiseSuperBlocksTest, WhatABlockCanHoldComesBack) {
  // Codes times a power of two, with the same span in every group.
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 7 % 16) - 8) * 0.25f;
  }
  for (const Dtype dtype : kDtypes) {
    EXPECT_LT(RelativeError(values, BackFrom(dtype, values)), 0.004) << DtypeName(dtype);
  }
}

TEST(QuantiseSuperBlocksTest, ConstantsZerosAndTheTiniest) {
  for (const Dtype dtype : kDtypes) {
    for (const float value : {0.0f, -0.0f, 1e-45f, -1e-39f, 1e-9f, 1.0f, -3.0f, 65504.0f, -65504.0f,
                              0x1p-20f, -0x1p-23f}) {
      const std::vector<float> values(256, value);
      for (const float v : BackFrom(dtype, values)) {
        ASSERT_TRUE(std::isfinite(v));
        // 2^-24 is the smallest step.
        EXPECT_LE(std::fabs(v - value), std::fabs(value) * 0.004f + 0x1p-25f)
            << DtypeName(dtype) << " " << value;
      }
    }
  }
}

TEST(QuantiseSuperBlocksTest, OneOutlierCostsItsGroupOnly) {
  for (const Dtype dtype : kDtypes) {
    for (const float outlier : {60000.0f, -60000.0f, 30.0f, -30.0f}) {
      std::vector<float> values = Normal(256, 1, 11);
      values[77] = outlier;
      const std::vector<float> back = BackFrom(dtype, values);
      EXPECT_NEAR(back[77], outlier, std::fabs(outlier) * 0.04f) << DtypeName(dtype);
      for (const float v : back) ASSERT_TRUE(std::isfinite(v));
    }
  }
}

TEST(QuantiseSuperBlocksTest, GroupsOfOneSignAndOfVeryDifferentSize) {
  for (const Dtype dtype : kDtypes) {
    std::vector<float> values = Normal(256 * 4, 1, 17);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i < 256) values[i] = std::fabs(values[i]);
      if (i >= 256 && i < 512) values[i] = -std::fabs(values[i]);
      if (i >= 512) values[i] *= std::pow(2.0f, static_cast<float>(i / 32 % 6));
    }
    const double bound = dtype == Dtype::kQ4K ? 0.085 : dtype == Dtype::kQ5K ? 0.042 : 0.018;
    EXPECT_LT(RelativeError(values, BackFrom(dtype, values)), bound) << DtypeName(dtype);
  }
}

TEST(QuantiseSuperBlocksTest, MixedTiniestValues) {
  for (const Dtype dtype : kDtypes) {
    for (const float spread : {1e-44f, 1e-30f, 1e-8f, 1e-7f, 1e-6f}) {
      const std::vector<float> values = Normal(256, spread, 23);
      const std::vector<float> back = BackFrom(dtype, values);
      for (std::size_t i = 0; i < 256; ++i) {
        const float bound = 4 * spread / 15 + 0x1p-24f;  // half of a step, and of the smallest
        ASSERT_LE(std::fabs(back[i] - values[i]), bound) << DtypeName(dtype) << " " << spread;
      }
    }
  }
}

TEST(QuantiseSuperBlocksTest, ABlockDoesNotDependOnItsNeighbours) {
  for (const Dtype dtype : kDtypes) {
    const std::vector<float> values = Normal(256 * 3, 1, 29);
    const std::vector<float> all = BackFrom(dtype, values);
    const std::vector<float> middle(values.begin() + 256, values.begin() + 512);
    const std::vector<float> alone = BackFrom(dtype, middle);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + 256)) << DtypeName(dtype);
  }
}

}  // namespace
}  // namespace lattice
