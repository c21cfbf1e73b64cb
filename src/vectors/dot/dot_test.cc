#include "vectors/dot/dot.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace lattice::vectors {
namespace {

constexpr std::uint32_t kSeed = 7;

std::vector<std::size_t> Sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 260; ++n) sizes.push_back(n);
  sizes.insert(sizes.end(), {384, 768, 1023, 1024, 4097});
  return sizes;
}

// Exactly n elements on the heap, so that a sanitizer sees a read past the end.
std::vector<float> Uniform(std::mt19937& rng, std::size_t n) {
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x) v = unit(rng);
  return x;
}

// Exponents so far apart that products underflow, some to -0.
std::vector<float> Wide(std::mt19937& rng, std::size_t n) {
  std::uniform_int_distribution<int> exponent(-126, 40);
  std::vector<float> x = Uniform(rng, n);
  for (float& v : x) v = std::ldexp(v, exponent(rng));
  return x;
}

std::vector<std::uint32_t> Bits(std::span<const float> x) {
  std::vector<std::uint32_t> bits;
  for (const float v : x) bits.push_back(std::bit_cast<std::uint32_t>(v));
  return bits;
}

// All results of one row of the table.
std::vector<float> Results(const DotFns& fns, const float* a, const float* b, std::size_t n) {
  std::vector<float> r(8);
  r[0] = fns.dot(a, b, n);
  r[1] = fns.squared_distance(a, b, n);
  fns.dot_and_norm(a, b, n, &r[2]);
  fns.dot_and_norms(a, b, n, &r[4]);
  const float cosine = fns.cosine(a, b, n);
  r[7] = std::isnan(cosine) ? 2.0f : cosine;  // Which bits say NaN does not matter.
  std::vector<float> quotient(b, b + n);
  fns.divide(quotient.data(), 3.0f, n);
  r.insert(r.end(), quotient.begin(), quotient.end());
  return r;
}

// Every product underflows to -0: whether the padding was added shows in the sign of the sum.
TEST(DotScalarTest, PaddingTurnsMinusZeroIntoZero) {
  const std::vector<float> a(65, -1e-30f), b(65, 1e-30f);
  EXPECT_TRUE(std::signbit(kDotScalar.dot(a.data(), b.data(), 64)));
  EXPECT_FALSE(std::signbit(kDotScalar.dot(a.data(), b.data(), 65)));
}

class DotVariantTest : public testing::TestWithParam<DotVariant> {
 protected:
  void SetUp() override {
    if (!CpuFeatures::Detect().Has(GetParam().needs)) {
      GTEST_SKIP() << "this processor cannot run " << GetParam().name;
    }
  }
};

TEST_P(DotVariantTest, GivesTheBitsOfScalar) {
  std::mt19937 rng(kSeed);
  for (const std::size_t n : Sizes()) {
    for (const bool wide : {false, true}) {
      const auto a = wide ? Wide(rng, n) : Uniform(rng, n);
      const auto b = wide ? Wide(rng, n) : Uniform(rng, n);
      ASSERT_EQ(Bits(Results(*GetParam().fns, a.data(), b.data(), n)),
                Bits(Results(kDotScalar, a.data(), b.data(), n)))
          << n << " elements, seed " << kSeed;
    }
  }
}

TEST_P(DotVariantTest, ATileIsItsPairs) {
  std::mt19937 rng(kSeed);
  for (const std::size_t n : Sizes()) {
    for (const std::size_t gap : {0u, 5u}) {
      const std::size_t stride = n + gap;
      const auto a = Uniform(rng, n == 0 ? 0 : (kTileA - 1) * stride + n);
      const auto b = Uniform(rng, n == 0 ? 0 : (kTileB - 1) * stride + n);
      std::vector<float> dots(kTileA * kTileB), alone;
      GetParam().fns->dot_tile(a.data(), stride, b.data(), stride, n, dots.data());
      for (std::size_t i = 0; i < dots.size(); ++i) {
        alone.push_back(
            kDotScalar.dot(a.data() + i % kTileA * stride, b.data() + i / kTileA * stride, n));
      }
      ASSERT_EQ(Bits(dots), Bits(alone)) << n;
    }
  }
}

TEST_P(DotVariantTest, GivesTheZeroOfScalar) {
  for (const std::size_t n : Sizes()) {
    const std::vector<float> a(n, -1e-30f), b(n, 1e-30f);
    ASSERT_EQ(Bits(Results(*GetParam().fns, a.data(), b.data(), n)),
              Bits(Results(kDotScalar, a.data(), b.data(), n)))
        << n << " elements";
  }
}

TEST_P(DotVariantTest, AlignmentDoesNotMatter) {
  std::mt19937 rng(kSeed);
  for (const std::size_t n : {5u, 64u, 100u, 384u}) {
    const auto a = Uniform(rng, n);
    const auto b = Uniform(rng, n);
    const auto expected = Bits(Results(*GetParam().fns, a.data(), b.data(), n));
    for (std::size_t shift = 1; shift < 16; ++shift) {
      std::vector<float> moved(shift);
      moved.insert(moved.end(), a.begin(), a.end());
      ASSERT_EQ(Bits(Results(*GetParam().fns, moved.data() + shift, b.data(), n)), expected);
    }
  }
}

TEST_P(DotVariantTest, StaysWithinTheStatedErrorOfF64) {
  constexpr double kUnit = 0x1p-24;
  std::mt19937 rng(kSeed);
  for (const std::size_t n : Sizes()) {
    const auto a = Uniform(rng, n);
    const auto b = Uniform(rng, n);
    double dot = 0, magnitude = 0, distance = 0, norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = a[i], y = b[i];
      dot += x * y;
      magnitude += std::abs(x * y);
      distance += (x - y) * (x - y);
      norm += y * y;
    }
    const double roundings = static_cast<double>((n + 63) / 64) + 7;
    const auto r = Results(*GetParam().fns, a.data(), b.data(), n);
    ASSERT_NEAR(r[0], dot, roundings * kUnit * magnitude) << n;
    ASSERT_NEAR(r[1], distance, (roundings + 3) * kUnit * distance) << n;
    ASSERT_NEAR(r[3], norm, roundings * kUnit * norm) << n;
    // The sums that several functions give are the same number.
    ASSERT_EQ(r[2], r[0]);
    ASSERT_EQ(r[4], r[0]);
    ASSERT_EQ(r[6], r[3]);
    ASSERT_EQ(r[5], GetParam().fns->dot(a.data(), a.data(), n));
    if (n > 0) {
      ASSERT_NEAR(r[7], r[0] / std::sqrt(static_cast<double>(r[5]) * r[6]), 4 * kUnit) << n;
      ASSERT_EQ(GetParam().fns->cosine(a.data(), a.data(), n), 1.0f) << n;
    }
  }
}

TEST_P(DotVariantTest, ANonFiniteElementIsNeverLost) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (std::size_t at = 0; at < 131; ++at) {
      std::vector<float> a(131, 0.0f);
      const std::vector<float> b(131, 0.0f);
      a[at] = bad;
      float sums[3];
      EXPECT_FALSE(std::isfinite(GetParam().fns->dot(a.data(), b.data(), a.size()))) << at;
      EXPECT_FALSE(std::isfinite(GetParam().fns->squared_distance(a.data(), b.data(), a.size())));
      GetParam().fns->dot_and_norms(a.data(), b.data(), a.size(), sums);
      EXPECT_FALSE(std::isfinite(sums[1]));
    }
  }
}

TEST_P(DotVariantTest, ACosineOfSquaresThatLostDigitsIsNone) {
  for (const float scale : {0.0f, 1e-20f, 1e-10f, 1e10f, 1e20f}) {
    const std::vector<float> a(70, scale), b(70, -1.0f);
    EXPECT_TRUE(std::isnan(GetParam().fns->cosine(a.data(), b.data(), 70))) << scale;
    EXPECT_TRUE(std::isnan(GetParam().fns->cosine(b.data(), a.data(), 70))) << scale;
  }
  for (const float scale : {1e-9f, 1e8f}) {
    const std::vector<float> a(70, scale), b(70, -1.0f);
    EXPECT_NEAR(GetParam().fns->cosine(a.data(), b.data(), 70), -1.0f, 1e-6) << scale;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, DotVariantTest,
                         testing::ValuesIn(DotVariants().begin(), DotVariants().end()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(SelectDotTest, TakesTheFirstRowThatRuns) {
  EXPECT_STREQ(SelectDot({}).name, "scalar");
  for (const DotVariant& row : DotVariants()) EXPECT_STREQ(SelectDot(row.needs).name, row.name);
}

}  // namespace
}  // namespace lattice::vectors
