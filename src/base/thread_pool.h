#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace lattice {

/// A fixed set of workers for short parallel loops. The calling thread is worker 0. Waiting threads
/// spin for a few microseconds, then sleep. Calls from several threads take turns; a body must not
/// call the pool again.
class ThreadPool {
 public:
  /// n_threads  including the caller; at least 1. Fewer are made when the system grants no more.
  explicit ThreadPool(std::size_t n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t n_threads() const { return workers_.size() + 1; }

  /// The number of processors this process may use: affinity mask and control-group quota count.
  static std::size_t DefaultThreads();

  /// Calls body(worker) once for each worker in 0..n_threads-1, at the same time, and waits for
  /// all.
  void Run(FunctionRef<void(std::size_t worker)> body);

  /// Cuts 0..n into one contiguous range a worker, borders at multiples of `grain`, and calls
  /// body(begin, end) for each that is not empty. The cut depends on n, grain and n_threads only.
  void ParallelFor(std::size_t n, std::size_t grain,
                   FunctionRef<void(std::size_t begin, std::size_t end)> body);

  /// Calls body(i) once for each i in 0..n, each by the next free worker, in rising order. For
  /// items of unequal cost; each item must be computed wholly inside its call.
  void ParallelEach(std::size_t n, FunctionRef<void(std::size_t i)> body);

 private:
  using Body = FunctionRef<void(std::size_t worker)>;
  void WorkerLoop(std::size_t worker);

  std::mutex turn_;
  const Body* body_ = nullptr;  // written before generation_ rises, read after
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> running_{0};
  std::atomic<bool> stopping_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

}  // namespace lattice
