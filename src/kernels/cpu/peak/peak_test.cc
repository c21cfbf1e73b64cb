#include "kernels/cpu/peak/peak.h"

#include <gtest/gtest.h>

namespace lattice::kernels {
namespace {

TEST(PeakTest, EveryInstructionOfThisMachineRuns) {
  ThreadPool pool(2);
  for (const PeakVariant& variant : PeakVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    EXPECT_GT(MeasurePeak(pool, variant), 0) << variant.name;
  }
}

TEST(PeakTest, FeaturesDecide) {
  const CpuFeatures none;
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    EXPECT_EQ(FindPeak(none, precision), nullptr);
  }
  for (const PeakVariant& variant : PeakVariants()) {
    const PeakVariant* found = FindPeak(variant.needs, variant.precision);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->precision, variant.precision);
    EXPECT_TRUE(variant.needs.Has(found->needs));
  }
}

}  // namespace
}  // namespace lattice::kernels
