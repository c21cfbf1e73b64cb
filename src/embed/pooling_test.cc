#include "embed/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lattice::embed {
namespace {

// Three tokens of two columns.
const std::vector<float> kRows = {1, -2, 3, 4, 5, -9};

std::vector<float> Pooled(Pooling mode, std::size_t n_skip = 0) {
  std::vector<float> out(2, 77.0f);
  PoolRows(kRows, 2, mode, n_skip, out);
  return out;
}

TEST(PoolingTest, EachModeByHand) {
  EXPECT_EQ(Pooled(Pooling::kCls), (std::vector<float>{1, -2}));
  EXPECT_EQ(Pooled(Pooling::kLast), (std::vector<float>{5, -9}));
  EXPECT_EQ(Pooled(Pooling::kMax), (std::vector<float>{5, 4}));
  EXPECT_EQ(Pooled(Pooling::kMean), (std::vector<float>{3, -7.0f / 3}));
  const auto root = std::sqrt(3.0);
  EXPECT_EQ(Pooled(Pooling::kMeanSqrtLength),
            (std::vector<float>{static_cast<float>(9 / root), static_cast<float>(-7 / root)}));
  // (1 * 1 + 2 * 3 + 3 * 5) / 6, (1 * -2 + 2 * 4 + 3 * -9) / 6
  EXPECT_EQ(Pooled(Pooling::kWeightedMean), (std::vector<float>{22.0f / 6, -21.0f / 6}));
}

TEST(PoolingTest, SkippedTokensDoNotCount) {
  EXPECT_EQ(Pooled(Pooling::kCls, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(Pooled(Pooling::kLast, 1), (std::vector<float>{5, -9}));
  EXPECT_EQ(Pooled(Pooling::kMax, 2), (std::vector<float>{5, -9}));
  EXPECT_EQ(Pooled(Pooling::kMean, 1), (std::vector<float>{4, -2.5f}));
  // Weights are the places in the whole text: (2 * 3 + 3 * 5) / 5, (2 * 4 + 3 * -9) / 5.
  EXPECT_EQ(Pooled(Pooling::kWeightedMean, 1), (std::vector<float>{21.0f / 5, -19.0f / 5}));
}

TEST(PoolingTest, NothingLeftIsZero) {
  for (const Pooling mode : {Pooling::kCls, Pooling::kLast, Pooling::kMax, Pooling::kMean,
                             Pooling::kMeanSqrtLength, Pooling::kWeightedMean}) {
    EXPECT_EQ(Pooled(mode, 3), (std::vector<float>{0, 0}));
    EXPECT_EQ(Pooled(mode, 1000), (std::vector<float>{0, 0}));
    std::vector<float> out(2, 77.0f);
    PoolRows({}, 2, mode, 0, out);
    EXPECT_EQ(out, (std::vector<float>{0, 0}));
  }
}

TEST(PoolingTest, WideRowsAreSummedInEveryColumn) {
  constexpr std::size_t kHidden = 300;  // more than one block of columns, the last one short
  std::vector<float> rows(2 * kHidden);
  for (std::size_t c = 0; c < kHidden; ++c) {
    rows[c] = static_cast<float>(c);
    rows[kHidden + c] = 1.0f;
  }
  std::vector<float> out(kHidden);
  PoolRows(rows, kHidden, Pooling::kMean, 0, out);
  for (std::size_t c = 0; c < kHidden; ++c) {
    EXPECT_EQ(out[c], (static_cast<float>(c) + 1) / 2);
  }
}

TEST(PoolingTest, MaxKeepsANan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& rows : {std::vector<float>{nan, 1}, std::vector<float>{1, nan}}) {
    std::vector<float> out(1);
    PoolRows(rows, 1, Pooling::kMax, 0, out);
    EXPECT_TRUE(std::isnan(out[0]));
  }
}

TEST(PoolingTest, NormalizeGivesUnitLengthAndZeroStaysZero) {
  std::vector<float> x = {3, 4};
  EXPECT_TRUE(NormalizeRow(x));
  EXPECT_EQ(x, (std::vector<float>{0.6f, 0.8f}));
  std::vector<float> zero = {0, 0};
  EXPECT_TRUE(NormalizeRow(zero));
  EXPECT_EQ(zero, (std::vector<float>{0, 0}));
  // The square of neither end of the f32 range fits in f32.
  std::vector<float> large = {3e38f, 3e38f};
  EXPECT_TRUE(NormalizeRow(large));
  EXPECT_NEAR(large[0], std::sqrt(0.5), 1e-7);
}

TEST(PoolingTest, NormalizeRefusesNonFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x = {1, bad, 2};
    EXPECT_FALSE(NormalizeRow(x));
    EXPECT_EQ(x[0], 1);
    EXPECT_FALSE(AllFinite(x));
  }
  EXPECT_TRUE(AllFinite(std::vector<float>{3e38f, -3e38f}));
}

}  // namespace
}  // namespace lattice::embed
