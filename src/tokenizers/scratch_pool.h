#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lattice::tokenizers {

/// Lends working memory to concurrent calls, so that buffers and caches survive from one call to
/// the next without belonging to a thread.
template <typename T>
class ScratchPool {
 public:
  /// Gives its T back when it goes.
  class Loan {
   public:
    Loan(ScratchPool& pool, std::unique_ptr<T> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      if (pool_.free_.size() < kMaxFree) pool_.free_.push_back(std::move(scratch_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    T* operator->() { return scratch_.get(); }
    T& operator*() { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> scratch_;
  };

  Loan Take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> scratch = std::move(free_.back());
        free_.pop_back();
        return Loan(*this, std::move(scratch));
      }
    }
    return Loan(*this, std::make_unique<T>());
  }

 private:
  static constexpr std::size_t kMaxFree = 64;

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace lattice::tokenizers
