#include "kernels/cpu/linear/panel_arena.h"

#include <algorithm>

namespace lattice::kernels {
namespace {
// Pages of a chunk that no layer was put into are never touched, so they cost no memory.
constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
constexpr std::size_t kAlignment = 64;
}  // namespace

PanelMemory<std::byte> PanelArena::AllocateBytes(std::size_t size_bytes) {
  const std::scoped_lock lock(mutex_);
  const std::size_t begin = (used_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  if (chunk_ == nullptr || begin > chunk_->size() || size_bytes > chunk_->size() - begin) {
    chunk_ = std::make_shared<AlignedBuffer>(std::max(size_bytes, kChunkBytes));
    used_bytes_ = size_bytes;
    return {{chunk_->data(), size_bytes}, chunk_};
  }
  used_bytes_ = begin + size_bytes;
  return {{chunk_->data() + begin, size_bytes}, chunk_};
}

}  // namespace lattice::kernels
