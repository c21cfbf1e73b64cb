#include "transport/rows/rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace lattice::transport {
namespace {

// All results of one row of the table, as bits.
std::vector<std::uint64_t> Results(const RowFns& fns, std::size_t n) {
  std::mt19937 rng(static_cast<unsigned>(n) + 7);
  std::uniform_real_distribution<float> unit(-60.0f, 60.0f);
  std::vector<float> s(n), h(n), z(n);
  for (std::size_t i = 0; i < n; ++i) {
    s[i] = unit(rng);
    h[i] = i % 7 == 3 ? -std::numeric_limits<float>::infinity() : unit(rng);
  }
  std::vector<std::uint64_t> bits;
  const float max = fns.affine_max(s.data(), h.data(), 0.75f, n, z.data());
  bits.push_back(std::bit_cast<std::uint32_t>(max));
  std::vector<float> e = z, moved = z;
  bits.push_back(std::bit_cast<std::uint64_t>(fns.exp_sum(e.data(), max, n)));
  double sums[2];
  fns.exp_sum_moment(moved.data(), max, n, sums);
  for (const double x : sums) bits.push_back(std::bit_cast<std::uint64_t>(x));
  for (const auto& row : {z, e, moved}) {
    for (const float x : row) bits.push_back(std::bit_cast<std::uint32_t>(x));
  }
  std::vector<float> rows = e;
  rows.insert(rows.end(), s.begin(), s.end());
  rows.insert(rows.end(), moved.begin(), moved.end());
  const float weights[3] = {0.5f, 1e-3f, 0.3f};
  std::vector<double> columns(n, 0.125);
  fns.add_weighted(rows.data(), n, weights, 3, 1.0 / 3, n, columns.data());
  for (const double x : columns) bits.push_back(std::bit_cast<std::uint64_t>(x));
  return bits;
}

class RowVariantTest : public testing::TestWithParam<RowVariant> {};

TEST_P(RowVariantTest, GivesTheBitsOfScalar) {
  if (!CpuFeatures::Detect().Has(GetParam().needs)) {
    GTEST_SKIP() << "this processor cannot run " << GetParam().name;
  }
  for (std::size_t n = 1; n <= 260; ++n) {
    ASSERT_EQ(Results(*GetParam().fns, n), Results(kRowsScalar, n)) << n << " elements";
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowVariantTest, testing::ValuesIn(RowVariants()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(RowsTest, SumsAreThoseOfF64) {
  constexpr std::size_t kN = 1000;
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> unit(-30.0f, 0.0f);
  std::vector<float> z(kN);
  for (float& x : z) x = unit(rng);
  z[17] = 0.0f;
  double sum = 0, moment = 0;
  for (const float x : z) {
    sum += std::exp(static_cast<double>(x));
    moment += x * std::exp(static_cast<double>(x));
  }
  double sums[2];
  kRowsScalar.exp_sum_moment(z.data(), 0.0f, kN, sums);
  EXPECT_NEAR(sums[0], sum, sum * 1e-7);
  EXPECT_NEAR(sums[1], moment, std::fabs(moment) * 1e-6);
}

}  // namespace
}  // namespace lattice::transport
