#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "lattice/check.h"

namespace lattice {
namespace {
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t size_bytes) : size_(size_bytes) {
  if (size_bytes == 0) return;
  const std::size_t alignment = size_bytes >= 2 * kHugePageBytes ? kHugePageBytes : 64;
  LATTICE_CHECK(size_bytes <= SIZE_MAX - alignment);
  const std::size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (data_ == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (alignment == kHugePageBytes) madvise(data_, rounded, MADV_HUGEPAGE);  // A hint: may fail.
#endif
}

// Not calloc: it clears what was in use before, and hands that out first.
AlignedBuffer AlignedBuffer::Zeroed(std::size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  void* data =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  buffer.data_ = static_cast<std::byte*>(data);
  buffer.size_ = size_bytes;
  buffer.is_mapped_ = true;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (is_mapped_) {
    munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace lattice
