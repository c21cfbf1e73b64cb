#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "lattice/result.h"

namespace lattice {

/// A regular file mapped for reading. Move-only; the view lives as long as the object.
///
/// The file may be replaced or removed meanwhile: the view keeps the old bytes. Cutting it short in
/// place is another matter: the system then ends the process (SIGBUS) at the next look at the
/// missing bytes, and no check before can prevent that. So this is for weights, which are too large
/// to copy; whatever is read once goes through InputFile, where a cut is an error.
class MappedFile {
 public:
  /// Errors as InputFile::Open's; kInvalidArgument also when the system grants no mapping.
  static Result<MappedFile> Open(const std::filesystem::path& file);

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        modified_ns_(other.modified_ns_) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(modified_ns_, other.modified_ns_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// When it was last written to, in nanoseconds since 1970.
  std::int64_t modified_ns() const { return modified_ns_; }

  /// Tells the system that the pages of `part` (inside bytes()) are not needed for now, so that
  /// they stop counting as this process's memory. They are read again on the next access.
  void Release(std::span<const std::byte> part) const;

 private:
  MappedFile(const std::byte* data, std::size_t size, std::int64_t modified_ns)
      : data_(data), size_(size), modified_ns_(modified_ns) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

}  // namespace lattice
