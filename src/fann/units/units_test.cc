#include "fann/units/units.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "numeric/random.h"

namespace lattice::fann {
namespace {

std::vector<float> Values(std::size_t n, std::uint64_t seed, double size) {
  Random random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.Normal() * size);
  return x;
}

void Append(const std::vector<float>& x, std::vector<std::uint32_t>& bits) {
  for (const float v : x) bits.push_back(std::bit_cast<std::uint32_t>(v));
}

// All results of one row of the table, as bits.
std::vector<std::uint32_t> Results(const UnitFns& fns, std::size_t n) {
  const auto z = Values(n, n, 3), other = Values(n, n + 1, 1), third = Values(n, n + 2, 1);
  std::vector<std::uint32_t> bits;
  for (int kind = 0; kind <= 7; ++kind) {
    std::vector<float> y(n), d = other;
    fns.activate(static_cast<UnitKind>(kind), 0.2f, z.data(), n, y.data());
    fns.activate_back(static_cast<UnitKind>(kind), 0.2f, z.data(), y.data(), n, d.data());
    Append(y, bits);
    Append(d, bits);
  }
  std::vector<float> y(n), d = other, pair(2);
  fns.softmax(z.data(), n, y.data(), pair.data());
  fns.softmax_back(y.data(), n, d.data());
  Append(y, bits);
  Append(d, bits);
  Append(pair, bits);
  d = other;
  const float factor = fns.normalise(z.data(), n, 1e-5f, y.data());
  fns.normalise_back(y.data(), third.data(), factor, n, d.data());
  Append({factor, fns.poison(z.data(), n), fns.sum_squares(z.data(), n)}, bits);
  Append(y, bits);
  Append(d, bits);
  fns.affine(z.data(), other.data(), third.data(), n, y.data());
  fns.multiply(z.data(), n, y.data());
  Append(y, bits);
  const auto rows = Values(5 * n, 9, 1), more = Values(5 * n, 10, 1);
  fns.column_sums(rows.data(), n, 5, n, y.data());
  Append(y, bits);
  fns.column_dots(rows.data(), more.data(), n, 5, n, y.data());
  Append(y, bits);
  std::vector<float> turned(9 * n);
  const auto nine = Values(9 * n, 11, 1);
  fns.transpose(nine.data(), n, 9, n, turned.data(), 9);
  Append(turned, bits);
  for (const auto step : {fns.sgd, fns.momentum, fns.adam, fns.rmsprop}) {
    std::vector<float> p = z, first = other, second(n, 0.25f);
    step({.p = p.data(),
          .g = third.data(),
          .first = first.data(),
          .second = second.data(),
          .n = n,
          .scale = 0.7f,
          .l2 = 0.01f,
          .keep = 0.99f,
          .rate = 0.1f,
          .beta1 = 0.9f,
          .beta2 = 0.99f,
          .inverse_root = 1.3f,
          .epsilon = 1e-8f});
    Append(p, bits);
    Append(first, bits);
    Append(second, bits);
  }
  return bits;
}

class UnitVariantTest : public testing::TestWithParam<UnitVariant> {};

TEST_P(UnitVariantTest, GivesTheBitsOfScalar) {
  if (!CpuFeatures::Detect().Has(GetParam().needs)) {
    GTEST_SKIP() << "this processor cannot run " << GetParam().name;
  }
  for (std::size_t n = 1; n <= 70; ++n) {
    ASSERT_EQ(Results(*GetParam().fns, n), Results(kUnitsScalar, n)) << n << " elements";
  }
}

INSTANTIATE_TEST_SUITE_P(All, UnitVariantTest, testing::ValuesIn(UnitVariants()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(UnitsTest, ActivationsAreThoseOfF64) {
  for (double z = -30; z <= 30; z += 0.37) {
    const auto x = static_cast<float>(z);
    const double exact = static_cast<double>(x), s = 1 / (1 + std::exp(-exact));
    const double inner = 0.7978845608028654 * (exact + 0.044715 * exact * exact * exact);
    const double expected[] = {exact,
                               s,
                               std::tanh(exact),
                               std::max(exact, 0.0),
                               exact > 0 ? exact : 0.2f * exact,
                               exact,
                               0.5 * exact * (1 + std::tanh(inner)),
                               exact * s};
    for (int kind = 0; kind <= 7; ++kind) {
      float y = 0;
      kUnitsScalar.activate(static_cast<UnitKind>(kind), 0.2f, &x, 1, &y);
      EXPECT_NEAR(y, expected[kind], 1e-6 + 4e-7 * std::fabs(expected[kind])) << kind << " " << x;
    }
  }
}

TEST(UnitsTest, WhatIsNotFiniteIsSeen) {
  std::vector<float> x(37, 1.0f);
  EXPECT_EQ(kUnitsScalar.poison(x.data(), x.size()), 0.0f);
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    x[33] = bad;
    EXPECT_TRUE(std::isnan(kUnitsScalar.poison(x.data(), x.size())));
  }
}

}  // namespace
}  // namespace lattice::fann
