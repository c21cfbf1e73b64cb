#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "kernels/api/backend.h"
#include "kernels/cpu/paged_attention/variants.h"

namespace lattice::kernels {

/// A private mapping without memory of its own until it is written. Move-only.
class ReservedMemory {
 public:
  static Result<ReservedMemory> Reserve(std::size_t size_bytes);
  ReservedMemory(ReservedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ReservedMemory& operator=(ReservedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ReservedMemory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  ReservedMemory(std::byte* data, std::size_t size_bytes) : data_(data), size_(size_bytes) {}
  std::byte* data_;
  std::size_t size_;
};

/// Pages of keys and values: page p, key head g at p * page_bytes + g * head_bytes. The layout of a
/// head is in kv_layout.h.
class CpuKvPages : public KvPages {
 public:
  static Result<std::unique_ptr<KvPages>> Make(const KvShape& shape, std::size_t n_pages);

  std::size_t n_pages() const override { return n_pages_; }
  std::size_t page_bytes() const override { return page_bytes_; }

  const KvShape& shape() const { return shape_; }
  const KvLayout& layout() const { return layout_; }
  std::span<std::byte> page(std::size_t p) {
    return {memory_.data() + p * page_bytes_, page_bytes_};
  }
  std::span<const std::byte> page(std::size_t p) const {
    return {memory_.data() + p * page_bytes_, page_bytes_};
  }

  /// Asks for the memory that Store of a row will change: a line for each dimension of its keys,
  /// which the stores would wait for one after another.
  void FetchKeys(std::uint32_t slot);
  /// See Backend::StoreKv.
  void Store(const PagedAttentionKernels& kernels, const float* k, const float* v,
             std::uint32_t slot);

 private:
  CpuKvPages(const KvShape& shape, const KvLayout& layout, std::size_t n_pages,
             ReservedMemory memory);

  KvShape shape_;
  KvLayout layout_;
  std::size_t n_pages_, page_bytes_;
  ReservedMemory memory_;
};

inline CpuKvPages& AsCpu(KvPages& pages) { return static_cast<CpuKvPages&>(pages); }
inline const CpuKvPages& AsCpu(const KvPages& pages) {
  return static_cast<const CpuKvPages&>(pages);
}

}  // namespace lattice::kernels
