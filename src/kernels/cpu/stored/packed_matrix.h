#pragma once

#include <cstddef>

#include "base/thread_pool.h"
#include "kernels/api/weight_memory.h"
#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/stored/stored_matrix.h"

namespace lattice::kernels {

/// A matrix of weights of a block format in panels of sixteen outputs, in memory of its own; see
/// packed_blocks.
struct PackedMatrix {
  PackedFormat format = PackedFormat::kQ4_0;
  std::size_t panel_bytes = 0;
  const std::byte* panels = nullptr;
};

/// Lays out `matrix` as blocks of `dtype`: its own, or that in which its values are to be kept. The
/// memory must outlive the result; when it is filled already the matrix is not read.
/// kInvalidArgument when rows are not whole blocks; kUnsupported for values that cannot be
/// quantised to dtype; kCorruptData when they are not finite or too large for it.
Result<PackedMatrix> PackMatrix(ThreadPool& pool, WeightMemory& memory, const StoredMatrix& matrix,
                                Dtype dtype);

/// The values of `matrix` in rows of blocks of `dtype`, in memory that must outlive the result.
/// Errors as above.
Result<StoredMatrix> QuantiseMatrix(ThreadPool& pool, WeightMemory& memory,
                                    const StoredMatrix& matrix, Dtype dtype);

}  // namespace lattice::kernels
