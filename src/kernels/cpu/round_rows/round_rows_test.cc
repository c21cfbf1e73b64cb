#include "kernels/cpu/round_rows/round_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <random>

#include "numeric/float16.h"

namespace lattice::kernels {
namespace {

TEST(RoundRowsTest, EveryVariantRoundsLikeTheReference) {
  std::mt19937 rng(1);
  for (const RoundRowVariant& variant : RoundRowVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (std::size_t n = 1; n <= 260; ++n) {
      const std::size_t padded = (n + 31) / 32 * 32;
      const auto x = std::make_unique<float[]>(n);
      const auto out = std::make_unique<std::uint16_t[]>(padded);
      // Any pattern of bits: numbers of every size, ties, infinities, NaNs.
      for (std::size_t t = 0; t < n; ++t) {
        std::uint32_t bits = static_cast<std::uint32_t>(rng());
        if (t % 4 == 1) bits = (bits & 0xFFFF0000u) | 0x8000u;
        if (t % 4 == 2) bits |= 0x7F800000u;
        x[t] = std::bit_cast<float>(bits);
      }
      variant.run(x.get(), n, out.get(), padded);
      for (std::size_t t = 0; t < padded; ++t) {
        ASSERT_EQ(out[t], t < n ? F32ToBf16(x[t]) : 0) << variant.name << " " << n << " " << t;
      }
    }
  }
}

}  // namespace
}  // namespace lattice::kernels
