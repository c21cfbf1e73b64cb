#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lattice/transport.h"
#include "numeric/random.h"

namespace lattice::transport {
namespace {

std::vector<float> Cloud(std::size_t n, std::size_t dims, std::uint64_t seed, double offset = 0) {
  Random random(seed);
  std::vector<float> x(n * dims);
  for (float& v : x) v = static_cast<float>(random.Normal() + offset);
  return x;
}

TEST(DivergenceTest, OfEqualSetsIsNothingInAnyOrder) {
  constexpr std::size_t kDims = 6, kN = 80;
  const auto x = Cloud(kN, kDims, 1);
  std::vector<float> reversed(x.size());
  for (std::size_t i = 0; i < kN; ++i) {
    for (std::size_t t = 0; t < kDims; ++t) reversed[i * kDims + t] = x[(kN - 1 - i) * kDims + t];
  }
  for (const Ground ground : {Ground::kSquaredEuclidean, Ground::kCosine}) {
    const auto d = SinkhornDivergence({x, kDims}, {reversed, kDims}, ground, {.tolerance = 1e-5});
    ASSERT_TRUE(d.has_value());
    EXPECT_TRUE(d->converged());
    EXPECT_NEAR(d->value, 0, 1e-5 * d->cross.value + 1e-6);
  }
}

TEST(DivergenceTest, IsSymmetricAndDoesNotSeePermutations) {
  constexpr std::size_t kDims = 5;
  const auto x = Cloud(60, kDims, 1), y = Cloud(75, kDims, 2, 0.4);
  const SinkhornOptions options{.epsilon = 0.5, .tolerance = 1e-6};
  const auto one = SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean, options);
  const auto other = SinkhornDivergence({y, kDims}, {x, kDims}, Ground::kSquaredEuclidean, options);
  EXPECT_NEAR(one->value, other->value, 1e-4 * one->value);
  EXPECT_GT(one->value, 0.1);
}

TEST(DivergenceTest, OfATranslationIsItsSquare) {
  // Exactly so for every epsilon: transport of a moved set costs |shift|^2 more than to itself.
  constexpr std::size_t kDims = 3, kN = 100;
  const auto x = Cloud(kN, kDims, 1);
  std::vector<float> y = x;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += i % kDims == 0 ? 2.0f : -1.0f;
  const auto d = SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean,
                                    {.tolerance = 1e-5, .max_iterations = 20000});
  EXPECT_TRUE(d->converged());
  EXPECT_NEAR(d->value, 6, 6e-3);
}

TEST(DivergenceTest, AKnownSelfTermGivesTheSame) {
  constexpr std::size_t kDims = 4;
  const auto x = Cloud(50, kDims, 1), y = Cloud(50, kDims, 2, 1);
  const SinkhornOptions options{.epsilon = 0.4};
  const auto self = SolveSelf({x, kDims}, Ground::kSquaredEuclidean, options);
  const auto want = SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean, options);
  const auto got =
      SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean, options, {}, &*self);
  EXPECT_EQ(got->value, want->value);
  EXPECT_FALSE(SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean,
                                  {.epsilon = 0.5}, {}, &*self)
                   .has_value());
}

TEST(DivergenceTest, GradientIsThatOfFiniteDifferences) {
  constexpr std::size_t kDims = 3, kN = 12, kM = 15;
  auto x = Cloud(kN, kDims, 1);
  const auto y = Cloud(kM, kDims, 2, 0.7);
  const SinkhornOptions options{.epsilon = 0.5, .tolerance = 1e-7, .max_iterations = 20000};
  const auto value = [&] {
    return SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean, options)->value;
  };
  const auto d = SinkhornDivergence({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean, options);
  const auto gradient = DivergenceGradient({x, kDims}, {y, kDims}, *d);
  ASSERT_TRUE(gradient.has_value());
  constexpr float kStep = 0.02f;
  for (const std::size_t i : {0u, 7u, 20u, 35u}) {
    const float old = x[i];
    x[i] = old + kStep;
    const double up = value();
    x[i] = old - kStep;
    const double down = value();
    x[i] = old;
    EXPECT_NEAR((up - down) / (2 * static_cast<double>(kStep)), (*gradient)[i], 2e-3);
  }
}

TEST(BarycentreTest, OfTwoPointsOnAFixedLineIsBetweenThem) {
  // Support 0, 1, ..., 10; one set at 2, the other at 8.
  std::vector<float> support(11);
  for (std::size_t j = 0; j < 11; ++j) support[j] = static_cast<float>(j);
  const std::vector<float> first = {2}, second = {8};
  const std::vector<Cost> costs = {
      Cost::Between({first, 1}, {support, 1}, Ground::kSquaredEuclidean),
      Cost::Between({second, 1}, {support, 1}, Ground::kSquaredEuclidean)};
  const std::vector<std::vector<double>> weights = {{1.0}, {1.0}};
  const auto mean = FixedSupportBarycentre(costs, weights, std::vector<double>{0.5, 0.5},
                                           {.epsilon = 0.1, .tolerance = 1e-6});
  ASSERT_TRUE(mean.has_value()) << mean.error().message;
  EXPECT_TRUE(mean->converged);
  EXPECT_GT(mean->weights[5], 0.99);
  const auto nearer = FixedSupportBarycentre(costs, weights, std::vector<double>{2, 1},
                                             {.epsilon = 0.1, .tolerance = 1e-6});
  EXPECT_GT(nearer->weights[4], 0.99);
}

TEST(BarycentreTest, FreePointsOfMovedSetsAreMovedHalfWay) {
  constexpr std::size_t kDims = 2, kN = 30;
  const auto x = Cloud(kN, kDims, 1);
  std::vector<float> y = x;
  for (float& v : y) v += 4.0f;
  const std::vector<Points> sets = {{x, kDims}, {y, kDims}};
  const auto mean = FreeSupportBarycentre(
      sets, {}, x, 20, {.epsilon = 0.02, .tolerance = 1e-3, .max_iterations = 5000});
  ASSERT_TRUE(mean.has_value()) << mean.error().message;
  EXPECT_TRUE(mean->converged);
  double off = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    off +=
        std::fabs(static_cast<double>(mean->points[i]) - x[i] - 2) / static_cast<double>(x.size());
  }
  EXPECT_LT(off, 0.05);
}

TEST(GromovTest, SeesShapesAndNotPlaces) {
  // A right-angled net against the same one turned into three dimensions, and against a line.
  std::vector<float> flat, turned, line;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 3; ++j) {
      const auto x = static_cast<float>(i), y = static_cast<float>(j * j);
      flat.insert(flat.end(), {x, y});
      turned.insert(turned.end(), {0.6f * x + 5, y, 0.8f * x});
      line.push_back(x * 3 + y);
    }
  }
  const SinkhornOptions options{.max_iterations = 5000};
  const auto same = SolveGromov({flat, 2}, {turned, 3}, options);
  const auto other = SolveGromov({flat, 2}, {line, 1}, options);
  ASSERT_TRUE(same.has_value() && other.has_value());
  EXPECT_LT(same->value, 0.05);
  EXPECT_GT(other->value, 2 * same->value);
}

}  // namespace
}  // namespace lattice::transport
