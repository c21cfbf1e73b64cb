#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lattice::server {

/// Threads for work that takes a while, with a bounded queue before them.
class WorkerPool {
 public:
  WorkerPool(std::size_t n_threads, std::size_t max_waiting);
  /// Drops what waits, waits for what is at work.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False when the queue is full.
  bool Submit(std::function<void()> work);

 private:
  void Work();

  const std::size_t max_waiting_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lattice::server
