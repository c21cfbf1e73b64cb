#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "lattice/result.h"

namespace lattice {

/// A regular file mapped for reading. Move-only; the view lives as long as the object.
class MappedFile {
 public:
  /// kNotFound when there is no such file; kInvalidArgument when it is not a regular file (a
  /// folder, a device, a pipe: opening those could block).
  static Result<MappedFile> Open(const std::filesystem::path& file);

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Tells the system that the pages of `part` (inside bytes()) are not needed for now, so that
  /// they stop counting as this process's memory. They are read again on the next access.
  void Release(std::span<const std::byte> part) const;

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lattice
