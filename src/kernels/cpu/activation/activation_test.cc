#include "kernels/cpu/activation/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace lattice::kernels {
namespace {

const double kPi = 3.14159265358979323846;

double GeluErf(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double Logistic(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double GeluTanh(double x) {
  return x * Logistic(2 * std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x));
}
double Silu(double x) { return x * Logistic(x); }

// Distance of `got` from `want` in steps of the floats around `want`.
double Ulps(float got, double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

constexpr std::uint32_t kStep = 4099;  // Prime. 1 would be every float, and takes ten minutes.

// Finite floats of every exponent and either sign: each `step`-th bit pattern.
std::vector<float> FloatsByBits(std::uint32_t step) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += step) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isfinite(x)) values.push_back(x);
  }
  return values;
}

// The largest error in ulps, each divided by allowed(x).
double WorstUlps(MapFn map, double (*definition)(double), double (*allowed)(double)) {
  const std::vector<float> x = FloatsByBits(kStep);
  std::vector<float> y = x;
  map(y.data(), y.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, Ulps(y[i], definition(x[i])) / allowed(x[i]));
  }
  return worst;
}

double One(double) { return 1; }

TEST(ActivationTest, ErrorsAreAFewUlpsOverAllFloats) {
  const ActivationKernels& run = SelectActivation(CpuFeatures::Detect());
  EXPECT_LT(WorstUlps(run.gelu_erf, GeluErf, One), 2.7);
  EXPECT_LT(WorstUlps(run.silu, Silu, One), 3.0);
  EXPECT_LT(WorstUlps(
                run.tanh, [](double x) { return std::tanh(x); }, One),
            1.7);
  EXPECT_EQ(WorstUlps(
                run.relu, [](double x) { return std::max(x, 0.0); }, One),
            0);
  // The exponent is a rounded cubic: its error counts in the far negative tail, where results are
  // tiny.
  EXPECT_LT(WorstUlps(run.gelu_tanh, GeluTanh,
                      [](double x) {
                        return x > 0 ? 1 : 1 + 0.5 * std::abs(1.6 * x + 0.0714 * x * x * x);
                      }),
            3.5);
}

TEST(ActivationTest, RoughGeluIsNearGelu) {
  const ActivationKernels& run = SelectActivation(CpuFeatures::Detect());
  std::vector<float> x;
  for (int i = -200000; i <= 200000; ++i) x.push_back(static_cast<float>(i) * 1e-4f);
  std::vector<float> y = x;
  RoughMapOf(run, Activation::kGeluErf)(y.data(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(y[i] - GeluErf(x[i]));
    ASSERT_LT(error, 4.6e-5) << x[i];
    ASSERT_LE(error, 1.2e-4 * std::abs(x[i])) << x[i];  // Zero stays zero.
  }
  const float inf = std::numeric_limits<float>::infinity();
  float extremes[] = {inf, -inf, 1e30f, -1e30f, std::numeric_limits<float>::quiet_NaN()};
  run.rough_gelu_erf(extremes, 5);
  EXPECT_EQ(extremes[0], inf);
  EXPECT_NEAR(extremes[1], 0.0f, 1e-5f);
  EXPECT_NEAR(extremes[2], 1e30f, 3e24f);
  EXPECT_NEAR(extremes[3], 0.0f, 1e-5f);
  EXPECT_TRUE(std::isnan(extremes[4]));
  EXPECT_EQ(RoughMapOf(run, Activation::kSilu), run.silu);
}

TEST(ActivationTest, ExtremesAreTheirLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const CpuFeatures features = CpuFeatures::Detect();
  for (const ActivationVariant& variant : ActivationVariants()) {
    if (!features.Has(variant.needs)) continue;
    const ActivationKernels& run = *variant.run;
    for (MapFn map : {run.gelu_erf, run.gelu_tanh, run.relu, run.silu}) {
      float x[] = {inf, -inf, 3e38f, -3e38f, 0.0f, nan};
      map(x, 6);
      EXPECT_EQ(x[0], inf) << variant.name;
      EXPECT_EQ(x[1], 0.0f) << variant.name;
      EXPECT_EQ(x[2], 3e38f) << variant.name;
      EXPECT_EQ(x[3], 0.0f) << variant.name;
      EXPECT_EQ(x[4], 0.0f) << variant.name;
      EXPECT_TRUE(std::isnan(x[5])) << variant.name;
    }
    float x[] = {inf, -inf, nan};
    run.tanh(x, 3);
    EXPECT_EQ(x[0], 1.0f) << variant.name;
    EXPECT_EQ(x[1], -1.0f) << variant.name;
    EXPECT_TRUE(std::isnan(x[2])) << variant.name;
  }
}

TEST(ActivationTest, AllVariantsGiveTheSameBitsAtAllLengths) {
  const std::vector<float> all = FloatsByBits(64 * kStep);
  const ActivationKernels& scalar = *ActivationVariants().back().run;
  const CpuFeatures features = CpuFeatures::Detect();
  for (const ActivationVariant& variant : ActivationVariants()) {
    if (!features.Has(variant.needs)) continue;
    std::vector<float> rough_want = all, rough_got = all;
    scalar.rough_gelu_erf(rough_want.data(), all.size());
    variant.run->rough_gelu_erf(rough_got.data(), all.size());
    ASSERT_EQ(std::memcmp(rough_want.data(), rough_got.data(), all.size() * sizeof(float)), 0)
        << variant.name;
    for (Activation activation : {Activation::kGeluErf, Activation::kGeluTanh, Activation::kRelu,
                                  Activation::kSilu, Activation::kTanh}) {
      for (std::size_t n = 0; n <= all.size();
           n = n < 260 ? n + 1 : all.size() + (n == all.size())) {
        const std::vector<float> x(all.end() - static_cast<std::ptrdiff_t>(n), all.end());
        std::vector<float> want = x, got = x;  // Exact heap blocks: no read or write past the end.
        MapOf(scalar, activation)(want.data(), n);
        MapOf(*variant.run, activation)(got.data(), n);
        ASSERT_TRUE(n == 0 || std::memcmp(want.data(), got.data(), n * sizeof(float)) == 0)
            << variant.name << " activation " << static_cast<int>(activation) << " n " << n;
        GateOf(scalar, activation)(x.data(), all.data(), n, want.data());
        GateOf(*variant.run, activation)(x.data(), all.data(), n, got.data());
        ASSERT_TRUE(n == 0 || std::memcmp(want.data(), got.data(), n * sizeof(float)) == 0)
            << variant.name << " gate " << static_cast<int>(activation) << " n " << n;
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
