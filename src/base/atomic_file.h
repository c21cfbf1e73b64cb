#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lattice/result.h"

namespace lattice {

/// A file that is written beside its final place and moved there whole: readers see the old bytes
/// or the new, never a mixture, and a mapping of the old file stays intact. Move-only; without
/// Commit nothing remains. The temporary file is locked (flock) while it is written:
/// RemoveAbandonedFiles knows by that which ones nobody will finish.
class AtomicFile {
 public:
  /// kInvalidArgument when the folder does not exist or may not be written, or when `file` is there
  /// and no regular file: a device or a pipe must not be replaced. kResourceExhausted when the disk
  /// or the table of open files is full. The same for the other calls.
  static Result<AtomicFile> Create(const std::filesystem::path& file);

  AtomicFile(AtomicFile&& other) noexcept
      : file_(std::move(other.file_)),
        temporary_(std::move(other.temporary_)),
        fd_(std::exchange(other.fd_, -1)) {}
  AtomicFile& operator=(AtomicFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(temporary_, other.temporary_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~AtomicFile();

  Status Append(std::string_view content);
  Status Append(std::span<const std::byte> content);
  /// Replaces bytes that were appended before: for a header that counts what follows it.
  Status Overwrite(std::size_t offset, std::string_view content);

  /// Syncs, renames, syncs the folder. Nothing may be appended afterwards.
  Status Commit();

 private:
  AtomicFile(std::filesystem::path file, std::string temporary, int fd)
      : file_(std::move(file)), temporary_(std::move(temporary)), fd_(fd) {}

  std::filesystem::path file_;
  std::string temporary_;
  int fd_ = -1;
};

/// Removes the temporary files in `folder` whose writers are gone: a killed process leaves one.
void RemoveAbandonedFiles(const std::filesystem::path& folder);

}  // namespace lattice
