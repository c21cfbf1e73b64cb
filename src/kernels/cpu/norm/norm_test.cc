#include "kernels/cpu/norm/norm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace lattice::kernels {
namespace {

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(1.0f, 2.0f);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// What a function makes of fresh inputs, for each of its forms one after another.
std::vector<float> AllForms(const NormKernels& run, std::size_t n) {
  constexpr std::size_t kRows = 2;
  const std::vector<float> x = Random(kRows * n, 1), other = Random(kRows * n, 2);
  const std::vector<float> gain = Random(n, 3), bias = Random(n, 4);
  std::vector<float> out(kRows * n), all;
  for (const float* residual : {static_cast<const float*>(nullptr), other.data()}) {
    for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
      run.layer_norm(x.data(), residual, gain.data(), b, 1e-5f, kRows, n, out.data());
      all.insert(all.end(), out.begin(), out.end());
    }
    run.rms_norm(x.data(), residual, gain.data(), 1e-6f, kRows, n, n, out.data());
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

TEST(NormTest, AllVariantsGiveTheSameBitsAtAllLengths) {
  const CpuFeatures features = CpuFeatures::Detect();
  for (std::size_t n = 1; n <= 260; ++n) {
    const std::vector<float> want = AllForms(kNormScalar, n);
    for (const NormVariant& variant : NormVariants()) {
      if (!features.Has(variant.needs)) continue;
      const std::vector<float> got = AllForms(*variant.run, n);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
          << variant.name << " n " << n;
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
