#include "numeric/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "numeric/dtype.h"

namespace lattice {
namespace {

TEST(Float16Test, EveryF16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = F16ToF32(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = F32ToF16(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(F16ToF32(back))) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(Float16Test, EveryBf16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Bf16ToF32(static_cast<std::uint16_t>(bits));
    const std::uint16_t back = F32ToBf16(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(Bf16ToF32(back))) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

// Halfway cases and both neighbours, against the definition: the nearest, ties to even mantissa.
TEST(Float16Test, RoundsToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = F16ToF32(static_cast<std::uint16_t>(bits));
    const float high = F16ToF32(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: one more mantissa bit
    const auto even = static_cast<std::uint16_t>((bits & 1) == 0 ? bits : bits + 1);
    ASSERT_EQ(F32ToF16(middle), even) << bits;
    ASSERT_EQ(F32ToF16(std::nextafter(middle, low)), bits);
    ASSERT_EQ(F32ToF16(std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(F32ToF16(65519.996f), 0x7BFF);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7C00);
  EXPECT_EQ(F32ToF16(-1e30f), 0xFC00);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);
}

TEST(Float16Test, Float8KnownValues) {
  EXPECT_EQ(F8E4M3ToF32(0x7E), 448.0f);
  EXPECT_EQ(F8E4M3ToF32(0x01), 0x1p-9f);
  EXPECT_EQ(F8E4M3ToF32(0x38), 1.0f);
  EXPECT_EQ(F8E4M3ToF32(0xB8), -1.0f);
  EXPECT_TRUE(std::isnan(F8E4M3ToF32(0x7F)));
  EXPECT_EQ(F8E5M2ToF32(0x7B), 57344.0f);
  EXPECT_EQ(F8E5M2ToF32(0x3C), 1.0f);
  EXPECT_TRUE(std::isinf(F8E5M2ToF32(0x7C)));
}

TEST(DtypeTest, WidensUnalignedBytes) {
  const std::uint16_t halves[2] = {0x3C00, 0xC000};
  std::byte bytes[5];
  std::memcpy(bytes + 1, halves, 4);
  float out[2];
  WidenToF32(Dtype::kF16, std::span(bytes).subspan(1), out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(DtypeFromName("F8_E5M2"), Dtype::kF8E5M2);
  EXPECT_EQ(DtypeFromName("Q4"), std::nullopt);
}

}  // namespace
}  // namespace lattice
