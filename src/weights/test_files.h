#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace lattice::weights {

/// A folder that lives as long as one test.
class TestFolder {
 public:
  TestFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string(test->name()) + "." + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path Write(std::string_view name, std::string_view content) const {
    EXPECT_TRUE(WriteFileAtomically(path_ / name, content)) << name;
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A safetensors file of any header and data, well formed or not.
inline std::string FileOf(std::string_view header, std::size_t n_data_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xFF));
  }
  file += header;
  for (std::size_t i = 0; i < n_data_bytes; ++i) file.push_back(static_cast<char>(i));
  return file;
}

}  // namespace lattice::weights
