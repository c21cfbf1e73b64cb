#include "kernels/cpu/linear/blocks.h"

#include <algorithm>

#include "kernels/cpu/row_split.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// From this many rows a worker on, its own rows are worth more than reading the weights only once.
constexpr std::size_t kRowsOfAWorker = 32;

struct Range {
  std::size_t begin, end;
};

// The same cut as ThreadPool::ParallelFor.
Range PartOf(std::size_t n, std::size_t grain, std::size_t worker, std::size_t n_workers) {
  const std::size_t n_grains = (n + grain - 1) / grain;
  return {n_grains * worker / n_workers * grain,
          std::min(n, n_grains * (worker + 1) / n_workers * grain)};
}

}  // namespace

void ForBlocks(ThreadPool& pool, const ProductShape& shape,
               FunctionRef<void(const Block& block, std::size_t worker)> body) {
  LATTICE_CHECK(shape.block_rows > 0);
  if (shape.n_rows == 0) return;
  // Calls body for the rows in blocks of nearly equal size.
  const auto run = [&](Range rows, Range panels, std::size_t worker) {
    if (rows.begin >= rows.end || panels.begin >= panels.end) return;
    const std::size_t n = rows.end - rows.begin;
    const std::size_t n_blocks = (n + shape.block_rows - 1) / shape.block_rows;
    for (std::size_t b = 0; b < n_blocks; ++b) {
      body({rows.begin + n * b / n_blocks, rows.begin + n * (b + 1) / n_blocks, panels.begin,
            panels.end},
           worker);
    }
  };
  const std::size_t n_threads = pool.n_threads();
  const Range all_rows = {0, shape.n_rows}, all_panels = {0, shape.n_panels};
  if (n_threads == 1 || static_cast<double>(shape.n_rows) * shape.row_ns <= kInlineNanoseconds) {
    run(all_rows, all_panels, 0);
    return;
  }
  const bool by_panels = shape.n_rows < kRowsOfAWorker * n_threads;
  pool.Run([&](std::size_t worker) {
    if (by_panels) {
      run(all_rows, PartOf(shape.n_panels, 1, worker, n_threads), worker);
    } else {
      run(PartOf(shape.n_rows, kRowGrain, worker, n_threads), all_panels, worker);
    }
  });
}

}  // namespace lattice::kernels
