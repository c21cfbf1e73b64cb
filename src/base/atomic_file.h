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
///
/// Bytes are written many at a time: the system then caches the file in large pages, and whoever
/// maps it, as weights are, starts and reads faster.
class AtomicFile {
 public:
  /// kInvalidArgument when the folder does not exist or may not be written, or when `file` is there
  /// and no regular file: a device or a pipe must not be replaced. kResourceExhausted when the disk
  /// or the table of open files is full. The same for the other calls, and for those that come
  /// after the one whose bytes do not fit.
  static Result<AtomicFile> Create(const std::filesystem::path& file);

  AtomicFile(AtomicFile&& other) noexcept
      : file_(std::move(other.file_)),
        temporary_(std::move(other.temporary_)),
        waiting_(std::move(other.waiting_)),
        fd_(std::exchange(other.fd_, -1)) {}
  AtomicFile& operator=(AtomicFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(temporary_, other.temporary_);
    std::swap(waiting_, other.waiting_);
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

  Status Flush();

  std::filesystem::path file_;
  std::string temporary_;
  std::string waiting_;  // appended, but not written yet
  int fd_ = -1;
};

/// Removes the temporary files in `folder` whose writers are gone: a killed process leaves one.
void RemoveAbandonedFiles(const std::filesystem::path& folder);

}  // namespace lattice
