#include "server/openai/worker_pool.h"

#include <exception>
#include <utility>

namespace lattice::server {

WorkerPool::WorkerPool(std::size_t n_threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (std::size_t i = 0; i < n_threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  std::deque<std::function<void()>> dropped;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Submit(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_ || waiting_.size() >= max_waiting_) return false;
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {
      // Out of memory: the request is dropped, which its client is told when `work` goes.
    }
    work = nullptr;
    lock.lock();
  }
}

}  // namespace lattice::server
