#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lattice/result.h"

namespace lattice::models {

/// The folder of packed weights, a file for each model and way of packing: what an earlier start
/// has packed is there for the next. Everything in it can be made again, so the file that was used
/// longest ago goes when there is no room. Files are unlinked, never shortened: who has one mapped
/// keeps it.
class WeightCache {
 public:
  struct Limits {
    std::uint64_t most_bytes = 20'000'000'000;  ///< Of all files.
    // What stays free of the disk: the lesser of the two.
    unsigned free_percent = 10;
    std::uint64_t free_bytes = 10'000'000'000;
  };
  struct File {
    std::filesystem::path path;
    std::uint64_t size = 0;
    std::filesystem::file_time_type used;
  };

  explicit WeightCache(std::filesystem::path folder) : WeightCache(std::move(folder), Limits()) {}
  WeightCache(std::filesystem::path folder, Limits limits)
      : folder_(std::move(folder)), limits_(limits) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path PathOf(const std::string& identity) const;

  /// Whole files, the one used last first. No folder: none.
  std::vector<File> List() const;
  std::uint64_t SizeBytes() const;

  /// Makes the folder, tidies up after writers that died, and removes files until `n_bytes` more
  /// are within the limits. kResourceExhausted when they cannot be.
  Status MakeRoom(std::uint64_t n_bytes) const;
  /// Removes all files, and returns their bytes.
  std::uint64_t Clear() const;
  /// Notes that the file is in use, as far as the file system lets us.
  static void Touch(const std::filesystem::path& file);

 private:
  std::filesystem::path folder_;
  Limits limits_;
};

}  // namespace lattice::models
