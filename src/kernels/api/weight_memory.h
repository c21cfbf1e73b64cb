#pragma once

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

/// Memory of this process alone: no piece is filled.
class ProcessWeightMemory : public WeightMemory {
 public:
  Result<Piece> Take(std::size_t size_bytes, std::uint64_t /*tag*/) override {
    pieces_.emplace_back(size_bytes);
    return Piece{{pieces_.back().data(), size_bytes}};
  }

 private:
  std::vector<AlignedBuffer> pieces_;
};

}  // namespace lattice::kernels
