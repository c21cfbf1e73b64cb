#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "lattice/check.h"

namespace lattice::hub {

/// A temporary folder of one test.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lattice-test-XXXXXX").string();
    LATTICE_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lattice::hub
