#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lattice/transport.h"
#include "numeric/random.h"
#include "transport/symmetric_eigen.h"

namespace lattice::transport {
namespace {

TEST(LineTransportTest, IsTheExactValue) {
  Random random(1);
  std::vector<float> x(30), y(40);
  for (float& v : x) v = static_cast<float>(random.Normal());
  for (float& v : y) v = static_cast<float>(random.Normal() + 1);
  std::vector<double> a(30), b(40);
  for (double& v : a) v = random.Uniform();
  for (double& v : b) v = random.Uniform();
  a[3] = 0;
  const auto line = LineTransport(x, y, 2, a, b);
  const auto exact = SolveExact(Cost::Between({x, 1}, {y, 1}, Ground::kSquaredEuclidean), a, b);
  ASSERT_TRUE(line.has_value() && exact.has_value());
  EXPECT_NEAR(*line, exact->cost, 1e-5);
  EXPECT_NEAR(*LineTransport(std::vector<float>{0, 1}, std::vector<float>{3, 5}, 1), 3.5, 1e-9);
  EXPECT_FALSE(LineTransport(x, y, 0.5).has_value());
}

TEST(GaussianTransportTest, OfScaledSetsIsTheClosedForm) {
  // y = 2 x + shift: the root of the covariance doubles: W2^2 = |shift + mean|^2 + trace S.
  Random random(2);
  constexpr std::size_t kDims = 5, kN = 400;
  std::vector<float> x(kN * kDims), y(kN * kDims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random.Normal() * (1.0 + static_cast<double>(i % kDims)));
    y[i] = 2 * x[i] + 1;
  }
  std::vector<double> mean(kDims);
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % kDims] += x[i] / static_cast<double>(kN);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = x[i] - mean[i % kDims];
    expected += off * off / static_cast<double>(kN);
  }
  for (const double m : mean) expected += (m + 1) * (m + 1);
  const auto got = GaussianTransport({x, kDims}, {y, kDims});
  ASSERT_TRUE(got.has_value());
  EXPECT_NEAR(*got, expected, 1e-4 * expected);
  EXPECT_NEAR(*GaussianTransport({x, kDims}, {x, kDims}), 0, 1e-4);
}

TEST(SlicedTransportTest, OfATranslationIsItsMeanSquare) {
  Random random(3);
  constexpr std::size_t kDims = 4, kN = 200;
  std::vector<float> x(kN * kDims);
  for (float& v : x) v = static_cast<float>(random.Normal());
  std::vector<float> y = x;
  for (std::size_t i = 0; i < y.size(); i += kDims) y[i] += 3;
  const auto sliced = SolveSliced({x, kDims}, {y, kDims}, 2000, 7);
  ASSERT_TRUE(sliced.has_value());
  EXPECT_NEAR(sliced->value, 9.0 / kDims, 4 * sliced->standard_error);
  EXPECT_LT(sliced->standard_error, 0.06);
  EXPECT_EQ(SolveSliced({x, kDims}, {y, kDims}, 2000, 7, {.n_threads = 3})->value, sliced->value);
}

TEST(SymmetricEigenTest, PairsAreThoseOfTheMatrix) {
  Random random(4);
  for (const std::size_t n : {1u, 2u, 3u, 10u, 41u}) {
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = a[j * n + i] = random.Normal();
    }
    const Eigen eigen = SymmetricEigen(a, n, true);
    for (std::size_t k = 0; k < n; ++k) {
      EXPECT_LE(eigen.values[k == 0 ? 0 : k - 1], eigen.values[k]);
      double norm = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += a[i * n + j] * eigen.vectors[k * n + j];
        EXPECT_NEAR(sum, eigen.values[k] * eigen.vectors[k * n + i], 1e-10);
        norm += eigen.vectors[k * n + i] * eigen.vectors[k * n + i];
      }
      EXPECT_NEAR(norm, 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace lattice::transport
