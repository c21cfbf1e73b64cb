#pragma once

#include <algorithm>
#include <cstdint>

namespace lattice::grammar {

/// How much may still be worked out: counted in steps of some 50 ns, so that what is refused does
/// not depend on the machine.
class WorkBudget {
 public:
  /// Takes n steps from what is left; false when there are not so many, now and ever after.
  bool Spend(std::uint64_t n_steps) {
    if (n_steps <= left_) {
      left_ -= n_steps;
      return true;
    }
    ran_out_ = true;
    left_ = 0;
    return false;
  }
  bool ran_out() const { return ran_out_; }

  std::uint64_t left() const { return left_; }
  void Set(std::uint64_t n_steps) {
    left_ = n_steps;
    ran_out_ = false;
  }
  /// Adds steps, to at most `most` of them.
  void Add(std::uint64_t n_steps, std::uint64_t most) {
    left_ = std::min(most, left_ + std::min(most, n_steps));
  }

 private:
  std::uint64_t left_ = UINT64_MAX;
  bool ran_out_ = false;
};

}  // namespace lattice::grammar
