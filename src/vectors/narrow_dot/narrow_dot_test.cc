#include "vectors/narrow_dot/narrow_dot.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "numeric/float16.h"
#include "numeric/random.h"
#include "vectors/dot/dot.h"

namespace lattice::vectors {
namespace {

constexpr std::size_t kMost = 260;

class NarrowDotVariantTest : public testing::TestWithParam<NarrowDotVariant> {
 protected:
  void SetUp() override {
    if (!CpuFeatures::Detect().Has(GetParam().needs)) {
      GTEST_SKIP() << "this processor cannot run " << GetParam().name;
    }
  }
  const NarrowDotFns& fns() const { return *GetParam().fns; }
  Random random_{7};
};

template <typename T, typename Make>
std::vector<T> Filled(std::size_t n, Make make) {
  std::vector<T> out(n);
  for (T& v : out) v = static_cast<T>(make());
  return out;
}

// The order of additions is that of f32 products.
TEST_P(NarrowDotVariantTest, NarrowRowsEqualTheirElementsInF32) {
  for (std::size_t n = 0; n <= kMost; ++n) {
    const auto query = Filled<float>(n, [&] { return random_.Normal(); });
    const auto values = Filled<float>(n, [&] { return random_.Normal(); });
    std::vector<std::uint16_t> f16, bf16;
    std::vector<std::int8_t> i8;
    std::vector<float> of_f16, of_bf16, of_i8;
    for (const float v : values) {
      f16.push_back(F32ToF16(v));
      of_f16.push_back(F16ToF32(f16.back()));
      bf16.push_back(F32ToBf16(v));
      of_bf16.push_back(Bf16ToF32(bf16.back()));
      i8.push_back(static_cast<std::int8_t>(v * 30));
      of_i8.push_back(static_cast<float>(i8.back()));
    }
    const auto want = [&](const std::vector<float>& row) {
      return std::bit_cast<std::uint32_t>(kDotScalar.dot(query.data(), row.data(), n));
    };
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    ASSERT_EQ(bits(fns().f16(query.data(), f16.data(), n)), want(of_f16)) << n;
    ASSERT_EQ(bits(fns().bf16(query.data(), bf16.data(), n)), want(of_bf16)) << n;
    const auto pair = [&](const std::vector<float>& x) {
      return std::bit_cast<std::uint32_t>(kDotScalar.dot(x.data(), x.data(), x.size()));
    };
    ASSERT_EQ(bits(fns().f16_pair(f16.data(), f16.data(), n)), pair(of_f16)) << n;
    std::vector<float> even_first((n + 63) / 64 * 64);
    for (std::size_t i = 0; i < n; ++i)
      even_first[i / 32 * 32 + i % 2 * 16 + i % 32 / 2] = of_bf16[i];
    ASSERT_EQ(bits(fns().bf16_pair(bf16.data(), bf16.data(), n)), pair(even_first)) << n;
    ASSERT_EQ(bits(fns().wide_i8(query.data(), i8.data(), n)), want(of_i8)) << n;
  }
}

TEST_P(NarrowDotVariantTest, IntegersAreExact) {
  for (std::size_t n = 0; n <= kMost; ++n) {
    const auto a =
        Filled<std::int8_t>(n, [&] { return static_cast<int>(random_.Below(255)) - 127; });
    const auto b =
        Filled<std::int8_t>(n, [&] { return static_cast<int>(random_.Below(255)) - 127; });
    const auto nibbles = [&] { return (1 + random_.Below(15)) | (1 + random_.Below(15)) << 4; };
    const auto c = Filled<std::uint8_t>(n, nibbles), d = Filled<std::uint8_t>(n, nibbles);
    int i8 = 0, i4 = 0, bits = 0;
    for (std::size_t i = 0; i < n; ++i) {
      i8 += a[i] * b[i];
      i4 += ((c[i] & 15) - 8) * ((d[i] & 15) - 8) + ((c[i] >> 4) - 8) * ((d[i] >> 4) - 8);
      bits += std::popcount(static_cast<unsigned>(c[i] ^ d[i]));
    }
    ASSERT_EQ(fns().i8(a.data(), b.data(), n), i8) << n;
    ASSERT_EQ(fns().i4(c.data(), d.data(), n), i4) << n;
    ASSERT_EQ(fns().hamming(c.data(), d.data(), n), static_cast<std::uint32_t>(bits)) << n;
  }
}

TEST_P(NarrowDotVariantTest, TheLargestSumsFit) {
  constexpr std::size_t kN = std::size_t{1} << 16;
  const std::vector<std::int8_t> most(kN, 127), least(kN, -127);
  EXPECT_EQ(fns().i8(most.data(), most.data(), kN), 127 * 127 * 65536);
  EXPECT_EQ(fns().i8(most.data(), least.data(), kN), -127 * 127 * 65536);
  EXPECT_EQ(fns().i8(least.data(), least.data(), kN), 127 * 127 * 65536);
  const std::vector<std::uint8_t> high(kN, 0xFF), low(kN, 0x11), none(kN, 0);
  EXPECT_EQ(fns().i4(high.data(), high.data(), kN), 2 * 49 * 65536);
  EXPECT_EQ(fns().i4(high.data(), low.data(), kN), -2 * 49 * 65536);
  EXPECT_EQ(fns().hamming(high.data(), none.data(), kN), 8u * 65536);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowDotVariantTest, testing::ValuesIn(NarrowDotVariants()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace lattice::vectors
