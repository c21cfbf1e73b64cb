#pragma once

#include <cstddef>
#include <span>

#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::vectors {

/// A matrix in the bytes of a NumPy file, row-major without gaps.
struct NpyMatrix {
  Dtype dtype = Dtype::kF32;         ///< kF32, kF16, kI8 or kU8
  std::size_t n_rows = 0, dims = 0;  ///< dims > 0
  std::span<const std::byte> data;   ///< StorageBytes(dtype, n_rows * dims), aligned for dtype
};

/// Reads formats 1 to 3: two axes, rows in order, little-endian. `bytes` is the whole file, aligned
/// to 16 bytes (a mapping is). kCorruptData: anything else; kUnsupported: another element type,
/// order or alignment. The messages lack the file's name. Source: numpy.lib.format.
Result<NpyMatrix> ParseNpy(std::span<const std::byte> bytes);

}  // namespace lattice::vectors
