#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace lattice {

/// Owned bytes aligned for any vector register (64), or to 2 MiB with huge pages asked for when
/// large. Contents start undefined. Move-only.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size_bytes);
  /// All zeros, in pages of its own, huge where they fit: given by the system where written to.
  static AlignedBuffer Zeroed(std::size_t size_bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        is_mapped_(other.is_mapped_) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(is_mapped_, other.is_mapped_);
    return *this;
  }
  ~AlignedBuffer();

  std::size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }

  /// The bytes as elements of T, for trivial T.
  template <typename T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_mapped_ = false;
};

}  // namespace lattice
