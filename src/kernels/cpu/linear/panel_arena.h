#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "base/aligned_buffer.h"

namespace lattice::kernels {

/// Owned memory for packed weights.
template <typename T>
struct PanelMemory {
  std::span<T> values;  ///< 64-byte aligned.
  std::shared_ptr<AlignedBuffer> owner;
};

/// Hands out memory for packed weights from large chunks, so that a model's layers lie side by side
/// in huge pages: one short text reads every weight once, and would otherwise walk a page table for
/// each 4 KiB. A chunk lives as long as some layer in it. Any thread may call it.
class PanelArena {
 public:
  template <typename T>
  PanelMemory<T> Allocate(std::size_t n) {
    auto [bytes, owner] = AllocateBytes(n * sizeof(T));
    return {{reinterpret_cast<T*>(bytes.data()), n}, std::move(owner)};
  }

 private:
  PanelMemory<std::byte> AllocateBytes(std::size_t size_bytes);

  std::mutex mutex_;
  std::shared_ptr<AlignedBuffer> chunk_;
  std::size_t used_bytes_ = 0;
};

}  // namespace lattice::kernels
