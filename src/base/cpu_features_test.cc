#include "base/cpu_features.h"

#include <gtest/gtest.h>

namespace lattice {
namespace {

TEST(CpuFeaturesTest, ScalarIsAlwaysThere) {
  const auto scalar = CpuFeatures::Named("scalar");
  ASSERT_TRUE(scalar.has_value());
  EXPECT_TRUE(CpuFeatures::Detect().Has(*scalar));
  EXPECT_EQ(scalar->ToString(), "scalar");
}

TEST(CpuFeaturesTest, UnknownNameListsTheKnownOnes) {
  const auto result = CpuFeatures::Named("avx9000");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("avx512vnni"), std::string::npos);
}

TEST(CpuFeaturesTest, EveryNamedRowIsRefusedOrPresent) {
  for (const char* name : {"avx2", "avxvnni", "avx512", "avx512vnni", "avx512vpopcntdq",
                           "avx512bf16", "amx", "neon", "neon_dotprod", "neon_i8mm", "neon_bf16"}) {
    const auto row = CpuFeatures::Named(name);
    if (row) {
      EXPECT_TRUE(CpuFeatures::Detect().Has(*row)) << name;
    } else {
      EXPECT_EQ(row.error().code, ErrorCode::kUnsupported) << name;
    }
  }
}

}  // namespace
}  // namespace lattice
