#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/cpu_cores.h"
#include "lattice/check.h"

namespace lattice {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the serial gap between two operations of a forward pass, shorter than what a person
// would notice as load.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kSpinsALook = 32;  // At the clock.

constexpr std::uint32_t kOpen = 1u << 15, kInside = kOpen - 1;
constexpr std::uint32_t CallOf(std::uint32_t gate) { return gate >> 16; }

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until done(value): spins first, then sleeps. Returns the value.
template <typename Done>
std::uint32_t WaitUntil(const std::atomic<std::uint32_t>& value, Done done) {
  std::uint32_t now = value.load(std::memory_order_acquire);
  if (done(now)) return now;
  const Clock::time_point end = Clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kSpinsALook; ++i) {
      Pause();
      now = value.load(std::memory_order_acquire);
      if (done(now)) return now;
    }
  } while (Clock::now() < end);
  while (!done(now)) {
    value.wait(now, std::memory_order_acquire);
    now = value.load(std::memory_order_acquire);
  }
  return now;
}

// Of ParallelFor: ranges that a worker's part is taken in, so that all end together.
constexpr std::size_t kRangesAPart = 8;
constexpr std::size_t kMaxParts = 64;

struct alignas(64) Part {
  std::atomic<std::size_t> next;
  std::size_t end, step;
};

}  // namespace

ThreadPool::ThreadPool(std::size_t n_threads) {
  LATTICE_CHECK(n_threads >= 1 && n_threads <= kInside);
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
  gate_.store((CallOf(gate_.load(std::memory_order_relaxed)) + 1) << 16);
  gate_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::size_t ThreadPool::DefaultThreads() { return UsableCores(); }

void ThreadPool::Run(Body body) { Call(body, /*waits_for_all=*/true); }

void ThreadPool::Share(Body body) { Call(body, /*waits_for_all=*/false); }

void ThreadPool::Call(Body body, bool waits_for_all) {
  if (workers_.empty()) {
    body(0);
    return;
  }
  const std::scoped_lock turn(turn_);
  body_ = &body;
  left_.store(0, std::memory_order_relaxed);
  const std::uint32_t call = CallOf(gate_.load(std::memory_order_relaxed)) + 1;
  gate_.exchange(call << 16 | kOpen);  // Sequentially consistent: before the look for sleepers.
  gate_.notify_all();
  std::exception_ptr own;
  try {
    body(0);
  } catch (...) {  // The workers still hold `body`: wait for them before the caller unwinds.
    own = std::current_exception();
  }
  const std::uint32_t n_inside = Close(waits_for_all);
  WaitUntil(left_, [&](std::uint32_t left) { return left == n_inside; });
  std::exception_ptr theirs = std::exchange(error_, nullptr);
  if (own) std::rethrow_exception(own);
  if (theirs) std::rethrow_exception(theirs);
}

// Nobody enters afterwards. Returns how many have.
std::uint32_t ThreadPool::Close(bool waits_for_all) {
  const auto all = static_cast<std::uint32_t>(workers_.size());
  if (waits_for_all) {
    WaitUntil(left_, [&](std::uint32_t left) { return left == all; });
  }
  return gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & kInside;
}

void ThreadPool::WorkerLoop(std::size_t worker) {
  std::uint32_t seen = 0;
  while (true) {
    const std::uint32_t gate =
        WaitUntil(gate_, [&](std::uint32_t now) { return CallOf(now) != seen; });
    seen = CallOf(gate);
    if (stopping_.load(std::memory_order_relaxed)) return;
    Enter(gate, worker);
  }
}

// Takes part in the call that was open when `gate` was read, if it still is.
void ThreadPool::Enter(std::uint32_t gate, std::size_t worker) {
  const std::uint32_t call = CallOf(gate);
  do {
    if ((gate & kOpen) == 0 || CallOf(gate) != call) return;
  } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire));
  try {
    (*body_)(worker);
  } catch (...) {
    const std::scoped_lock lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
  left_.fetch_add(1);
  left_.notify_all();
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
  const std::size_t n_parts = std::min(n_threads(), kMaxParts);
  Part parts[kMaxParts];
  for (std::size_t i = 0; i < n_parts; ++i) {
    const std::size_t begin = n_grains * i / n_parts;
    parts[i].next.store(begin, std::memory_order_relaxed);
    parts[i].end = n_grains * (i + 1) / n_parts;
    parts[i].step = std::max<std::size_t>(1, (parts[i].end - begin) / kRangesAPart);
  }
  Share([&](std::size_t worker) {
    for (std::size_t i = 0; i < n_parts; ++i) {
      Part& part = parts[(worker + i) % n_parts];
      for (std::size_t at = part.next.fetch_add(part.step); at < part.end;
           at = part.next.fetch_add(part.step)) {
        body(at * grain, std::min(n, std::min(at + part.step, part.end) * grain));
      }
    }
  });
}

void ThreadPool::ParallelEach(std::size_t n, FunctionRef<void(std::size_t)> body) {
  if (n <= 1 || workers_.empty()) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  Share([&](std::size_t) {
    for (std::size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(i);
  });
}

}  // namespace lattice
