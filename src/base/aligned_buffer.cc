#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "lattice/check.h"

namespace lattice {
namespace {
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Of a zeroed buffer: borders of huge pages are borders of pages of any size.
std::size_t MappedBytes(std::size_t size_bytes) {
  if (size_bytes < kHugePageBytes) return size_bytes;
  return (size_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}
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

// Not calloc: it clears what was in use before, and hands that out first. A buffer of at least one
// huge page starts at one; what follows the last whole one takes memory page by page.
AlignedBuffer AlignedBuffer::Zeroed(std::size_t size_bytes) {
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  LATTICE_CHECK(size_bytes <= SIZE_MAX - 2 * kHugePageBytes);
  const std::size_t slack = size_bytes >= kHugePageBytes ? kHugePageBytes : 0;
  const std::size_t mapped = MappedBytes(size_bytes);
  void* mapping =
      mmap(nullptr, mapped + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto* data = static_cast<std::byte*>(mapping);
  if (slack > 0) {
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(data) % kHugePageBytes;
    if (before > 0) munmap(data, before);
    data += before;
    if (before < slack) munmap(data + mapped, slack - before);
#if defined(MADV_HUGEPAGE)
    madvise(data, size_bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);  // As above.
#endif
  }
  buffer.data_ = data;
  buffer.size_ = size_bytes;
  buffer.is_mapped_ = true;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (is_mapped_) {
    munmap(data_, MappedBytes(size_));
  } else {
    std::free(data_);
  }
}

}  // namespace lattice
