#include "kernels/cpu/gates/gates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace lattice::kernels {
namespace {

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, 5.0f);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

void ExpectNear(float got, double want, double ulps) {
  EXPECT_NEAR(got, want, ulps * 6e-8 * std::abs(want) + 1e-38) << want;
}

TEST(GatesTest, FirstVariantIsNearTheDefinitions) {
  const GateKernels& run = SelectGates(CpuFeatures::Detect());
  const std::vector<float> x = Random(300, 1), y = Random(300, 2);
  std::vector<float> got = x;
  run.sigmoid_multiply(y.data(), got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) ExpectNear(got[i], x[i] * Logistic(y[i]), 4);
  got = x;
  run.add_gated(-1.5f, y.data(), got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(got[i], x[i] + Logistic(-1.5) * y[i], 2e-6);
  }
  got = x;
  run.soft_cap(3.0f, got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ExpectNear(got[i], 3 * std::tanh(static_cast<double>(x[i]) / 3), 5);
  }
  got = x;
  run.scale(0.75f, got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], x[i] * 0.75f);
  got = x;
  run.add_scale(0.75f, y.data(), got.data(), got.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(got[i], (x[i] + y[i]) * 0.75f);
}

TEST(GatesTest, ExtremesAreTheirLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const GateVariant& variant : GateVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    const float gate[] = {inf, -inf, 1e38f, -1e38f, 0.0f, nan};
    float x[] = {1, 1, 1, 1, 1, 1};
    variant.run->sigmoid_multiply(gate, x, 6);
    EXPECT_EQ(x[0], 1.0f) << variant.name;
    EXPECT_EQ(x[1], 0.0f) << variant.name;
    EXPECT_EQ(x[2], 1.0f) << variant.name;
    EXPECT_EQ(x[3], 0.0f) << variant.name;
    EXPECT_EQ(x[4], 0.5f) << variant.name;
    EXPECT_TRUE(std::isnan(x[5])) << variant.name;
    float capped[] = {inf, -inf};
    variant.run->soft_cap(30.0f, capped, 2);
    EXPECT_EQ(capped[0], 30.0f) << variant.name;
    EXPECT_EQ(capped[1], -30.0f) << variant.name;
  }
}

TEST(GatesTest, AllVariantsGiveTheSameBitsAtAllLengths) {
  const GateKernels& scalar = *GateVariants().back().run;
  for (const GateVariant& variant : GateVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    const GateKernels& run = *variant.run;
    for (std::size_t n = 1; n <= 70; ++n) {
      const std::vector<float> x = Random(n, 3), y = Random(n, 4);
      const auto same = [&](auto apply) {
        std::vector<float> want = x, got = x;  // Exact heap blocks.
        apply(scalar, want.data());
        apply(run, got.data());
        EXPECT_EQ(std::memcmp(want.data(), got.data(), n * sizeof(float)), 0)
            << variant.name << " n " << n;
      };
      same([&](const GateKernels& k, float* v) { k.sigmoid_multiply(y.data(), v, n); });
      same([&](const GateKernels& k, float* v) { k.add_gated(y[0], y.data(), v, n); });
      same([&](const GateKernels& k, float* v) { k.soft_cap(2.5f, v, n); });
      same([&](const GateKernels& k, float* v) { k.scale(1.7f, v, n); });
      same([&](const GateKernels& k, float* v) { k.add_scale(1.7f, y.data(), v, n); });
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
