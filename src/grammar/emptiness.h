#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "grammar/expr_pool.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// One byte of every class that the expressions of a pool tell apart.
std::vector<std::uint8_t> ClassBytes(const ExprPool& pool);

/// Tells expressions that match some text from those that match none, which And and Not can hide.
/// Remembers what it found, of one and the same pool.
class Emptiness {
 public:
  /// max_states  how many states one question may visit.
  explicit Emptiness(std::size_t max_states) : max_states_(max_states) {}

  /// kResourceExhausted when that takes too many states to tell.
  Result<bool> MatchesSomething(ExprPool& pool, ExprId e);
  /// When all but the first n expressions are gone.
  void Truncate(std::size_t n) {
    std::erase_if(known_, [n](const auto& known) { return known.first >= n; });
  }

 private:
  bool IsKnown(const ExprPool& pool, ExprId e, bool& matches) const;

  std::size_t max_states_;
  std::unordered_map<ExprId, bool> known_;
};

}  // namespace lattice::grammar
