#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace lattice {

/// A fixed set of workers for short parallel loops. The calling thread is worker 0. Waiting threads
/// spin for some microseconds, then sleep. Calls from several threads take turns; a body must not
/// call the pool again.
class ThreadPool {
 public:
  /// n_threads  including the caller; at least 1. Fewer are made when the system grants no more.
  explicit ThreadPool(std::size_t n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t n_threads() const { return workers_.size() + 1; }

  /// The number of cores this process may use well: see cpu_cores.h.
  static std::size_t DefaultThreads();

  /// Calls body(worker) once for each worker in 0..n_threads-1, at the same time, and waits for
  /// all.
  void Run(FunctionRef<void(std::size_t worker)> body);

  /// Calls body(worker) once for worker 0 and for those others that arrive before worker 0 is done,
  /// and waits for them alone. For work that whoever is there takes piece by piece until none is
  /// left: a worker whose core does something else keeps nobody waiting.
  void Share(FunctionRef<void(std::size_t worker)> body);

  /// Cuts 0..n into ranges with borders at multiples of `grain` and calls body(begin, end) once for
  /// each. The cut depends on n, grain and n_threads only. A worker takes ranges of its own
  /// contiguous part first, the same in every call, then what others have left.
  void ParallelFor(std::size_t n, std::size_t grain,
                   FunctionRef<void(std::size_t begin, std::size_t end)> body);

  /// Calls body(i) once for each i in 0..n, each by the next free worker, in rising order. For
  /// items of unequal cost; each item must be computed wholly inside its call.
  void ParallelEach(std::size_t n, FunctionRef<void(std::size_t i)> body);

 private:
  using Body = FunctionRef<void(std::size_t worker)>;

  void Call(Body body, bool waits_for_all);
  std::uint32_t Close(bool waits_for_all);
  void WorkerLoop(std::size_t worker);
  void Enter(std::uint32_t gate, std::size_t worker);

  std::mutex turn_;
  /// The number of the call in the high bits, whether it is open, and how many workers are in it:
  /// body_ is written before it opens and read by those inside.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  const Body* body_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> left_{0};  // Workers that are done with the call.
  std::atomic<bool> stopping_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

}  // namespace lattice
