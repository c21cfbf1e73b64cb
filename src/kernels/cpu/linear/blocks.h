#pragma once

#include <cstddef>

#include "base/function_ref.h"
#include "base/thread_pool.h"

namespace lattice::kernels {

/// The part of a product that one call of a kernel computes: rows of x times panels of weights.
struct Block {
  std::size_t row_begin = 0, row_end = 0;
  std::size_t panel_begin = 0, panel_end = 0;

  std::size_t rows() const { return row_end - row_begin; }
};

/// What decides how a product is cut.
struct ProductShape {
  std::size_t n_rows = 0;
  std::size_t n_panels = 0;
  std::size_t block_rows = 0;  ///< Most rows of a block: what stays in L2 beside a panel.
  double row_ns = 0;           ///< Rough time of one row through all panels.
};

/// Cuts a product into blocks and calls `body` for each, on the pool. Few rows: each worker takes
/// some panels for all rows, so that the weights are read once. Many rows: each worker takes the
/// rows that it has in its caches from the operation before, and all panels. `worker` is below
/// pool.n_threads().
void ForBlocks(ThreadPool& pool, const ProductShape& shape,
               FunctionRef<void(const Block& block, std::size_t worker)> body);

}  // namespace lattice::kernels
