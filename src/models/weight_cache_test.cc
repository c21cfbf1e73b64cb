#include "models/weight_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

namespace lattice::models {
namespace {

namespace fs = std::filesystem;

class WeightCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A file of 1000 bytes that was used `age` minutes ago.
  fs::path Add(const char* name, int age) const {
    const fs::path file = folder_ / (std::string(name) + ".packed");
    std::ofstream(file) << std::string(1000, 'x');
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(age));
    return file;
  }
  WeightCache Cache(std::uint64_t most_bytes, unsigned free_percent = 0) const {
    return WeightCache(folder_, {most_bytes, free_percent, ~std::uint64_t{0}});
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "weight_cache_test" / "packed";
};

TEST_F(WeightCacheTest, ListsWhatWasUsedLastFirst) {
  const fs::path old = Add("a", 9), middle = Add("b", 5), fresh = Add("c", 1);
  std::ofstream(folder_ / "note.txt") << "not ours";
  const auto files = Cache(1).List();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path, fresh);
  EXPECT_EQ(files[2].path, old);
  EXPECT_EQ(Cache(1).SizeBytes(), 3000u);
  WeightCache::Touch(old);
  EXPECT_EQ(Cache(1).List()[0].path, old);
}

TEST_F(WeightCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  const fs::path old = Add("a", 9), middle = Add("b", 5), fresh = Add("c", 1);
  EXPECT_TRUE(Cache(4000).MakeRoom(1000));
  EXPECT_EQ(Cache(1).SizeBytes(), 3000u);
  EXPECT_TRUE(Cache(4000).MakeRoom(1001));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(middle) && fs::exists(fresh));
  EXPECT_TRUE(Cache(4000).MakeRoom(4000));
  EXPECT_EQ(Cache(1).SizeBytes(), 0u);
}

TEST_F(WeightCacheTest, NothingIsRemovedForWhatCannotFit) {
  Add("a", 9);
  EXPECT_FALSE(Cache(4000).MakeRoom(4001));
  EXPECT_FALSE(Cache(~std::uint64_t{0}, 100).MakeRoom(1));
  EXPECT_FALSE(Cache(~std::uint64_t{0}).MakeRoom(std::uint64_t{1} << 62));
  EXPECT_EQ(Cache(1).SizeBytes(), 1000u);
}

TEST_F(WeightCacheTest, MakesItsFolderAndClearsIt) {
  fs::remove_all(folder_.parent_path());
  EXPECT_EQ(Cache(1).List().size(), 0u);
  EXPECT_TRUE(Cache(1000).MakeRoom(10));
  EXPECT_TRUE(fs::is_directory(folder_));
  Add("a", 1);
  std::ofstream(folder_ / "note.txt") << "not ours";
  EXPECT_EQ(Cache(1).Clear(), 1000u);
  EXPECT_TRUE(fs::exists(folder_ / "note.txt"));
}

TEST_F(WeightCacheTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ / "file") << "in the way";
  EXPECT_FALSE(WeightCache(folder_ / "file" / "packed").MakeRoom(1));
}

}  // namespace
}  // namespace lattice::models
