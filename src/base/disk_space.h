#pragma once

#include <cstdint>
#include <filesystem>

#include "lattice/result.h"

namespace lattice {

struct DiskSpace {
  std::uint64_t capacity = 0;
  std::uint64_t available = 0;  ///< To this user.

  /// Whether `n_bytes` more leave `kept_free`.
  bool Fits(std::uint64_t n_bytes, std::uint64_t kept_free) const {
    return available >= kept_free && n_bytes <= available - kept_free;
  }
};

/// Of the disk that `folder` lies on. kNotFound when the system does not say.
Result<DiskSpace> DiskSpaceOf(const std::filesystem::path& folder);

/// kResourceExhausted, with the numbers, when `n_bytes` more would not leave `kept_free` bytes of
/// the disk of `folder`. A forecast: others write too, so whoever writes sees to its own errors;
/// for the same reason no answer of the system is none here.
Status CheckDiskSpace(const std::filesystem::path& folder, std::uint64_t n_bytes,
                      std::uint64_t kept_free = 0);

}  // namespace lattice
