#include "base/disk_space.h"

#include <gtest/gtest.h>

namespace lattice {
namespace {

TEST(DiskSpaceTest, KeepsWhatShallStayFree) {
  const DiskSpace space{.capacity = 1000, .available = 100};
  EXPECT_TRUE(space.Fits(100, 0));
  EXPECT_FALSE(space.Fits(101, 0));
  EXPECT_TRUE(space.Fits(60, 40));
  EXPECT_FALSE(space.Fits(61, 40));
  EXPECT_FALSE(space.Fits(0, 101));
  EXPECT_FALSE(space.Fits(~std::uint64_t{0}, 40));
}

TEST(DiskSpaceTest, WhatCannotFitIsRefusedWithNumbers) {
  const std::filesystem::path folder = testing::TempDir();
  EXPECT_TRUE(CheckDiskSpace(folder, 1));
  const Status refused = CheckDiskSpace(folder, std::uint64_t{1} << 62, 64 << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  for (const std::string& part :
       {std::string("4398046511104 MiB"), folder.string(), std::string("64 MiB stay free")}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(CheckDiskSpace("/nowhere/at/all", 1));  // unknown: writing will tell
}

}  // namespace
}  // namespace lattice
