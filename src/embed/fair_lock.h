#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lattice::embed {

/// A lock that is given in the order of asking, so that a short request waits for one batch of a
/// long one and not for all of them. For std::scoped_lock.
class FairLock {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    const std::uint64_t ticket = next_++;
    turn_.wait(guard, [&] { return ticket == serving_; });
  }
  void unlock() {
    bool waited_for = false;
    {
      const std::scoped_lock guard(mutex_);
      ++serving_;
      waited_for = serving_ != next_;
    }
    if (waited_for) turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace lattice::embed
