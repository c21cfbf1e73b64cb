#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "lattice/check.h"

namespace lattice {
namespace {

// About 20 us on current processors: longer than the serial gap between two operations of a forward
// pass, shorter than what a person would notice as load.
constexpr int kSpins = 4000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` differs from `seen`: spins first, then sleeps.
void WaitForChange(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != seen) return;
    Pause();
  }
  value.wait(seen, std::memory_order_acquire);
}

// Processors granted by the control group's quota, or 0 when there is none.
std::size_t QuotaProcessors() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  char* end = nullptr;
  const double microseconds = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || microseconds <= 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(microseconds / period));
}

}  // namespace

ThreadPool::ThreadPool(std::size_t n_threads) {
  LATTICE_CHECK(n_threads >= 1);
  workers_.reserve(n_threads - 1);
  try {
    for (std::size_t worker = 1; worker < n_threads; ++worker) {
      workers_.emplace_back([this, worker] { WorkerLoop(worker); });
    }
  } catch (const std::system_error&) {  // The system grants no more: fewer give the same results.
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::size_t ThreadPool::DefaultThreads() {
  std::size_t n = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    n = static_cast<std::size_t>(std::max(1, CPU_COUNT(&allowed)));
  }
  if (const std::size_t quota = QuotaProcessors(); quota != 0) n = std::min(n, quota);
  return n;
}

void ThreadPool::Run(Body body) {
  if (workers_.empty()) {
    body(0);
    return;
  }
  const std::scoped_lock turn(turn_);
  body_ = &body;
  running_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  std::exception_ptr own;
  try {
    body(0);
  } catch (...) {  // The workers still hold `body`: wait for them before the caller unwinds.
    own = std::current_exception();
  }
  for (std::uint32_t left = running_.load(std::memory_order_acquire); left != 0;
       left = running_.load(std::memory_order_acquire)) {
    WaitForChange(running_, left);
  }
  std::exception_ptr theirs = std::exchange(error_, nullptr);
  if (own) std::rethrow_exception(own);
  if (theirs) std::rethrow_exception(theirs);
}

void ThreadPool::WorkerLoop(std::size_t worker) {
  std::uint32_t seen = 0;
  while (true) {
    WaitForChange(generation_, seen);
    ++seen;
    if (stopping_.load(std::memory_order_relaxed)) return;
    try {
      (*body_)(worker);
    } catch (...) {
      const std::scoped_lock lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

void ThreadPool::ParallelFor(std::size_t n, std::size_t grain,
                             FunctionRef<void(std::size_t, std::size_t)> body) {
  LATTICE_CHECK(grain >= 1);
  const std::size_t n_grains = (n + grain - 1) / grain;
  if (n_grains == 0) return;
  if (n_grains == 1 || workers_.empty()) {
    body(0, n);
    return;
  }
  const std::size_t threads = n_threads();
  Run([&](std::size_t worker) {
    const std::size_t begin = n_grains * worker / threads * grain;
    const std::size_t end = std::min(n, n_grains * (worker + 1) / threads * grain);
    if (begin < end) body(begin, end);
  });
}

void ThreadPool::ParallelEach(std::size_t n, FunctionRef<void(std::size_t)> body) {
  if (n <= 1 || workers_.empty()) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  Run([&](std::size_t) {
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(i);
  });
}

}  // namespace lattice
