#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "lattice/result.h"

namespace lattice::hub {

/// Digests of one file as lower-case hexadecimal digits.
struct FileHashes {
  std::uint64_t size = 0;
  std::string sha256;
  std::string git_blob;  ///< SHA-1 of "blob SIZE\0" and the content: how git names small files.
};

/// Reads the whole file from byte 0. kCancelled when `stop` is requested.
Result<FileHashes> HashFile(const std::filesystem::path& file, const std::stop_token& stop);

}  // namespace lattice::hub
