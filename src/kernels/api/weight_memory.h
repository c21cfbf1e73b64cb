#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "lattice/result.h"

namespace lattice::kernels {

/// Where a backend keeps weights whose layout is its own, made once when a model is loaded. The
/// same calls in the same order get the same pieces at every start, so that one start may leave
/// them to the next.
class WeightMemory {
 public:
  struct Piece {
    std::span<std::byte> bytes;  ///< 64-byte aligned; lives as long as the WeightMemory.
    /// An earlier start filled it: only to be read.
    bool is_filled = false;
  };

  virtual ~WeightMemory() = default;

  /// The next piece. `tag` names what it is to hold: layout, its version, dtype and shape. Not to
  /// be called by two threads at once. kResourceExhausted when there is no memory.
  virtual Result<Piece> Take(std::size_t size_bytes, std::uint64_t tag) = 0;
};

/// Memory of this process alone: no piece is filled. Pieces share blocks that grow large, which the
/// system backs with huge pages: one page for each 4 KB of weights takes longer than to pack them.
class ProcessWeightMemory : public WeightMemory {
 public:
  Result<Piece> Take(std::size_t size_bytes, std::uint64_t /*tag*/) override {
    if (blocks_.empty() || size_bytes > blocks_.back().size() - used_) {
      blocks_.emplace_back(std::max(size_bytes, next_bytes_));
      next_bytes_ = std::min(2 * next_bytes_, kLargestBytes);
      used_ = 0;
    }
    const Piece piece{{blocks_.back().data() + used_, size_bytes}};
    used_ = std::min((used_ + size_bytes + kAlignment - 1) / kAlignment * kAlignment,
                     blocks_.back().size());
    return piece;
  }

 private:
  static constexpr std::size_t kLargestBytes = std::size_t{32} << 20;
  static constexpr std::size_t kAlignment = 64;

  std::vector<AlignedBuffer> blocks_;
  std::size_t used_ = 0;  // of the last block
  std::size_t next_bytes_ = std::size_t{64} << 10;
};

}  // namespace lattice::kernels
