#include "base/cpu_cores.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace lattice {
namespace {

namespace fs = std::filesystem;

class CpuCoresTest : public testing::Test {
 protected:
  CpuCoresTest() : folder_(fs::path(testing::TempDir()) / "cpu_cores_test") {
    fs::remove_all(folder_);
  }
  ~CpuCoresTest() override { fs::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << "\n";
  }
  void Processor(std::size_t i, const std::string& siblings, const std::string& capacity) {
    const std::string at = "cpu" + std::to_string(i);
    Write(at + "/topology/thread_siblings_list", siblings);
    if (!capacity.empty()) Write(at + "/cpu_capacity", capacity);
  }

  fs::path folder_;
};

TEST_F(CpuCoresTest, ThreadsOfOneCoreCountOnce) {
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string low = std::to_string(i % 4), high = std::to_string(i % 4 + 4);
    Processor(i, low + "," + high, "");
  }
  EXPECT_EQ(CountCores(std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}, folder_), 4u);
  EXPECT_EQ(CountCores(std::vector<std::size_t>{1, 5, 6}, folder_), 2u);
}

TEST_F(CpuCoresTest, SmallCoresCountOnlyAmongThemselves) {
  for (std::size_t i = 0; i < 4; ++i) Processor(i, std::to_string(i), i < 2 ? "1024" : "446");
  EXPECT_EQ(CountCores(std::vector<std::size_t>{0, 1, 2, 3}, folder_), 2u);
  EXPECT_EQ(CountCores(std::vector<std::size_t>{2, 3}, folder_), 2u);
}

TEST_F(CpuCoresTest, WhatIsNotSaidIsOneThreadACore) {
  EXPECT_EQ(CountCores(std::vector<std::size_t>{0, 1, 2}, folder_), 3u);
  Processor(1, "nonsense", "-");
  EXPECT_EQ(CountCores(std::vector<std::size_t>{0, 1, 2}, folder_), 3u);
  EXPECT_EQ(CountCores({}, folder_), 1u);
}

TEST_F(CpuCoresTest, TheLeastQuotaOnTheWayCounts) {
  EXPECT_EQ(QuotaProcessors(folder_, "/a/b"), 0u);
  Write("cpu.max", "max 100000");
  Write("a/cpu.max", "350000 100000");
  EXPECT_EQ(QuotaProcessors(folder_, "/a/b"), 3u);
  Write("a/b/cpu.max", "50000 100000");
  EXPECT_EQ(QuotaProcessors(folder_, "/a/b"), 1u);
  EXPECT_EQ(QuotaProcessors(folder_, "/a"), 3u);
  EXPECT_EQ(QuotaProcessors(folder_, "/"), 0u);
  Write("a/b/cpu.max", "nonsense");
  EXPECT_EQ(QuotaProcessors(folder_, "/a/b"), 3u);
}

TEST_F(CpuCoresTest, ThisMachineHasOne) { EXPECT_GE(UsableCores(), 1u); }

}  // namespace
}  // namespace lattice
