#pragma once

#include <cstddef>

#include "base/function_ref.h"
#include "base/thread_pool.h"

namespace lattice::kernels {

/// Every operation on rows cuts them between workers at multiples of this, so a worker finds the
/// rows that it wrote in the operation before in its own caches.
inline constexpr std::size_t kRowGrain = 16;

/// Work below this is done by the caller alone: others would hardly have begun.
inline constexpr double kInlineNanoseconds = 2000;

/// Calls body(begin, end) for ranges that cover 0..n_rows. `row_ns` estimates one row's time.
inline void ForRows(ThreadPool& pool, std::size_t n_rows, double row_ns,
                    FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  if (n_rows == 0) return;
  if (static_cast<double>(n_rows) * row_ns <= kInlineNanoseconds) {
    body(0, n_rows);
    return;
  }
  pool.ParallelFor(n_rows, kRowGrain, body);
}

}  // namespace lattice::kernels
