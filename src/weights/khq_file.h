#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::weights {

/// One tensor in a file of its own, as older Lattice folders hold them.
struct KhqTensor {
  Dtype dtype = Dtype::kKhq4;  ///< kKhq4 (.q4), kKhq3 (.q3) or kF16 (.f16).
  std::vector<std::size_t> shape;
  std::size_t n_elements =
      0;                  ///< Product of the shape; the last block may be filled up with others.
  std::size_t begin = 0;  ///< Its bytes end with the file.
};

/// Reads and proves the header of a whole file, little-endian: magic ("KHQ4", "KHQ3" or "KHF1"),
/// u32 version (2, 1, 1), u32 rank, u64 for each dimension, u64 number of elements; then blocks of
/// 32, or f16, over the flat tensor, to the end of the file exactly.
///
/// Errors  kCorruptData, or kUnsupported for another version and for more than kMaxTensorRank
///         dimensions. They name byte and numbers, not the file.
Result<KhqTensor> ParseKhqFile(std::span<const std::byte> file);

}  // namespace lattice::weights
