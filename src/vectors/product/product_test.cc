#include "vectors/product/product.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lattice::vectors {
namespace {

std::vector<float> Uniform(std::mt19937& rng, std::size_t n) {
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x) v = unit(rng);
  return x;
}

// The contract, written out.
std::vector<float> Expected(const std::vector<float>& a, const std::vector<float>& b,
                            std::vector<float> c, std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t t = 0; t < k; ++t) {
        c[i * n + j] = __builtin_fmaf(a[i * k + t], b[t * n + j], c[i * n + j]);
      }
    }
  }
  return c;
}

class ProductVariantTest : public testing::TestWithParam<ProductVariant> {
 protected:
  void SetUp() override {
    if (!CpuFeatures::Detect().Has(GetParam().needs)) {
      GTEST_SKIP() << "this processor cannot run " << GetParam().name;
    }
  }
};

TEST_P(ProductVariantTest, GivesTheBitsOfItsContract) {
  std::mt19937 rng(7);
  for (std::size_t m : {1u, 2u, 5u, 6u, 7u, 12u, 13u, 25u}) {
    for (std::size_t n : {1u, 3u, 15u, 16u, 17u, 31u, 32u, 33u, 48u, 70u}) {
      for (std::size_t k : {0u, 1u, 7u, 64u}) {
        const auto a = Uniform(rng, m * k), b = Uniform(rng, k * n), start = Uniform(rng, m * n);
        std::vector<float> c(m * n, 9.0f);
        GetParam().run({a.data(), k, 1, b.data(), n, c.data(), n, m, n, k, false});
        ASSERT_EQ(c, Expected(a, b, std::vector<float>(m * n), m, n, k))
            << m << " " << n << " " << k;
        c = start;
        GetParam().run({a.data(), k, 1, b.data(), n, c.data(), n, m, n, k, true});
        ASSERT_EQ(c, Expected(a, b, start, m, n, k)) << m << " " << n << " " << k;
      }
    }
  }
}

TEST_P(ProductVariantTest, TakesATransposedLeftFactor) {
  std::mt19937 rng(7);
  constexpr std::size_t kM = 14, kN = 20, kK = 9;
  const auto a = Uniform(rng, kM * kK), b = Uniform(rng, kK * kN);
  std::vector<float> transposed(kM * kK), c(kM * kN);
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t t = 0; t < kK; ++t) transposed[t * kM + i] = a[i * kK + t];
  }
  GetParam().run({transposed.data(), 1, kM, b.data(), kN, c.data(), kN, kM, kN, kK, false});
  EXPECT_EQ(c, Expected(a, b, std::vector<float>(kM * kN), kM, kN, kK));
}

INSTANTIATE_TEST_SUITE_P(All, ProductVariantTest, testing::ValuesIn(ProductVariants()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PackPanelsTest, PanelsAreRightFactorsOfInnerProducts) {
  std::mt19937 rng(7);
  constexpr std::size_t kRows = 45, kDims = 11;
  const auto x = Uniform(rng, kRows * kDims);
  std::vector<float> panels(PanelElements(kRows, kDims), 5.0f);
  PackPanels(x, kDims, panels);
  for (std::size_t r = 0; r < 64; ++r) {
    for (std::size_t t = 0; t < kDims; ++t) {
      const float want = r < kRows ? x[r * kDims + t] : 0.0f;
      ASSERT_EQ(panels[r / 32 * 32 * kDims + t * 32 + r % 32], want);
    }
  }
}

}  // namespace
}  // namespace lattice::vectors
