#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"

namespace lattice::kernels {

/// Memory of one call of an operation: a buffer for each worker and one for all. Contents are
/// undefined.
struct CallScratch {
  std::vector<AlignedBuffer> workers;
  AlignedBuffer shared;
};

/// Keeps the memory of calls for the next ones, as many as ran at once. Thread-safe.
class ScratchKeeper {
 public:
  std::unique_ptr<CallScratch> Take(std::size_t n_workers, std::size_t worker_bytes,
                                    std::size_t shared_bytes);
  void GiveBack(std::unique_ptr<CallScratch> scratch);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallScratch>> idle_;  // under mutex_
};

/// Each worker makes itself a body, make(memory), and calls body(i) for i < n that no other has
/// taken, in rising order. n_workers is 1 (the caller alone) or all of the pool, as given to Take.
template <typename Make>
void ForEachUnit(ThreadPool& pool, std::size_t n, std::size_t n_workers, CallScratch& scratch,
                 Make make) {
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::size_t worker) {
    auto body = make(scratch.workers[worker].As<float>().data());
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(i);
  };
  if (n_workers == 1) {
    work(0);
  } else {
    pool.Share(work);
  }
}

}  // namespace lattice::kernels
