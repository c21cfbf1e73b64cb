#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "kernels/cpu/row_split.h"

namespace lattice::kernels {

/// Calls body(item, worker) once for each item in 0..n, in rising runs of items by the next free
/// worker: a worker that the system delays gets fewer. `item_ns` estimates one item's time; each
/// must be computed wholly inside its call.
inline void ForItems(ThreadPool& pool, std::size_t n, double item_ns,
                     FunctionRef<void(std::size_t item, std::size_t worker)> body) {
  if (pool.n_threads() == 1 || n <= 1 || static_cast<double>(n) * item_ns <= kInlineNanoseconds) {
    for (std::size_t i = 0; i < n; ++i) body(i, 0);
    return;
  }
  // Long runs first, which memory is read fastest in, and short ones at last, so that workers end
  // together; but none with less work than it costs to ask for.
  constexpr double kLeastRunNs = 2000;
  const auto least = static_cast<std::size_t>(kLeastRunNs / item_ns) + 1;
  const std::size_t share = 4 * pool.n_threads();
  std::atomic<std::size_t> next{0};
  pool.Share([&](std::size_t worker) {
    std::size_t begin = next.load();
    while (begin < n) {
      const std::size_t end = std::min(n, begin + std::max(least, (n - begin) / share));
      if (!next.compare_exchange_weak(begin, end)) continue;
      for (std::size_t i = begin; i < end; ++i) body(i, worker);
      begin = next.load();
    }
  });
}

}  // namespace lattice::kernels
