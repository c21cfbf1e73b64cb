#include "numeric/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "numeric/float16.h"

namespace lattice {
namespace {

TEST(NarrowTest, PlainFormatsRoundToNearest) {
  const std::vector<float> values = {0.0f, -1.0f, 3.14159f, 1e-7f, 65504.0f, -0x1p-24f};
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    ASSERT_TRUE(CanNarrow(dtype));
    std::vector<std::byte> bytes(StorageBytes(dtype, values.size()));
    NarrowFromF32(dtype, values, bytes);
    std::vector<float> back(values.size());
    WidenToF32(dtype, bytes, back);
    for (std::size_t i = 0; i < values.size(); ++i) {
      float want = values[i];
      if (dtype == Dtype::kF16) want = F16ToF32(F32ToF16(want));
      if (dtype == Dtype::kBf16) want = Bf16ToF32(F32ToBf16(want));
      EXPECT_EQ(back[i], want) << DtypeName(dtype);
    }
  }
  EXPECT_FALSE(CanNarrow(Dtype::kIq4Nl) || CanNarrow(Dtype::kI32) || CanNarrow(Dtype::kF64));
}

TEST(NarrowTest, FindsWhatCannotBeStored) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity, -infinity}) {
    std::vector<float> values(64, 1.0f);
    EXPECT_EQ(FindUnstorable(Dtype::kQ4_0, values), std::nullopt);
    values[37] = bad;
    for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16, Dtype::kF16, Dtype::kQ8_0, Dtype::kQ4K}) {
      EXPECT_EQ(FindUnstorable(dtype, values), 37u) << DtypeName(dtype);
    }
  }
  const std::vector<float> large = {65504.0f, -70000.0f};
  EXPECT_EQ(FindUnstorable(Dtype::kF16, large), 1u);
  EXPECT_EQ(FindUnstorable(Dtype::kQ6K, large), 1u);
  EXPECT_EQ(FindUnstorable(Dtype::kBf16, large), std::nullopt);
  EXPECT_EQ(FindUnstorable(Dtype::kF32, {}), std::nullopt);
}

}  // namespace
}  // namespace lattice
