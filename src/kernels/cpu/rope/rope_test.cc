#include "kernels/cpu/rope/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace lattice::kernels {
namespace {

TEST(RopeTest, AllVariantsGiveTheSameBitsAndTurnByTheAngle) {
  const CpuFeatures features = CpuFeatures::Detect();
  const std::vector<std::int32_t> positions = {0, 1, 2, 77, 511, 8191, 32767, 131071};
  for (std::size_t half = 1; half <= 70; ++half) {
    const std::size_t head_dim = 2 * half + half % 3, n_heads = 3;
    std::vector<float> inv_freq(half);
    for (std::size_t i = 0; i < half; ++i) {
      inv_freq[i] = std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(half));
    }
    std::vector<float> x(positions.size() * n_heads * head_dim);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    const auto rotated = [&](RopeFn run) {
      std::vector<float> y = x;
      run({y.data(), n_heads * head_dim, positions.size(), n_heads, head_dim, positions.data(),
           inv_freq.data(), half, 1.25f});
      return y;
    };
    const std::vector<float> want = rotated(RopeScalar);
    for (std::size_t r = 0; r < positions.size(); ++r) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle = static_cast<float>(positions[r]) * inv_freq[i];
        const std::size_t at = (r * n_heads + 1) * head_dim + i;
        ASSERT_NEAR(want[at], 1.25 * (x[at] * std::cos(angle) - x[at + half] * std::sin(angle)),
                    6e-7);
        ASSERT_NEAR(want[at + half],
                    1.25 * (x[at + half] * std::cos(angle) + x[at] * std::sin(angle)), 6e-7);
      }
    }
    for (const RopeVariant& variant : RopeVariants()) {
      if (!features.Has(variant.needs)) continue;
      const std::vector<float> got = rotated(variant.run);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0)
          << variant.name << " half " << half;
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
