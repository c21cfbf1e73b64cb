#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "lattice/result.h"

namespace lattice {

/// A regular file opened for reading. Move-only. Any number of threads may read.
class InputFile {
 public:
  /// kNotFound when there is no such file; kInvalidArgument when it is not a regular file (a
  /// folder, a device, a pipe: opening those could block).
  static Result<InputFile> Open(const std::filesystem::path& file);

  InputFile(InputFile&& other) noexcept
      : file_(std::move(other.file_)),
        fd_(std::exchange(other.fd_, -1)),
        size_(other.size_),
        modified_ns_(other.modified_ns_) {}
  InputFile& operator=(InputFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(fd_, other.fd_);
    std::swap(size_, other.size_);
    std::swap(modified_ns_, other.modified_ns_);
    return *this;
  }
  ~InputFile();

  std::size_t size() const { return size_; }  ///< In bytes, when it was opened.
  /// When it was last written to, in nanoseconds since 1970.
  std::int64_t modified_ns() const { return modified_ns_; }
  int descriptor() const { return fd_; }

  /// Fills `out` with the bytes from `offset` on. kCorruptData when the file ends before: it has
  /// become shorter since it was opened.
  Status Read(std::size_t offset, std::span<std::byte> out) const;

 private:
  InputFile(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}

  std::filesystem::path file_;
  int fd_ = -1;
  std::size_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

}  // namespace lattice
