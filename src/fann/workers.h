#pragma once

#include <cstddef>
#include <optional>

#include "base/cpu_cores.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"

namespace lattice::fann {

/// Threads for many short loops. Small ones stay with the caller: waking others would take longer.
class Workers {
 public:
  /// 0: the processors that this process may use.
  explicit Workers(std::size_t n_threads) {
    const std::size_t n = n_threads == 0 ? UsableCores() : n_threads;
    if (n > 1) pool_.emplace(n);
  }

  /// Calls body(i) once for each i in 0..n, of about `cost` multiply-adds each.
  void Each(std::size_t n, std::size_t cost, FunctionRef<void(std::size_t i)> body) {
    constexpr std::size_t kWorthWaking = 100'000;
    if (pool_ && n > 1 && n * cost >= kWorthWaking) {
      pool_->ParallelFor(n, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      });
    } else {
      for (std::size_t i = 0; i < n; ++i) body(i);
    }
  }

 private:
  std::optional<ThreadPool> pool_;
};

}  // namespace lattice::fann
