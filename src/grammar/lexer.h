#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "grammar/emptiness.h"
#include "grammar/expr_pool.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// A state of a lazily built DFA.
using LexState = std::uint32_t;
inline constexpr LexState kDead = 0;  ///< Nothing can come any more, and it is no end either.

struct LexerLimits {
  std::size_t max_states = 1 << 19;
  std::size_t max_expressions = 1 << 22;
  std::size_t max_states_to_decide = 20'000;
  /// Steps of work, as ExprPool counts them: so many at first and at most; each byte of a text and
  /// each mask adds some. What is known already takes none.
  std::uint64_t max_work = 5'000'000;
  std::uint64_t work_per_byte = 5'000;
  std::uint64_t work_per_mask = 200'000;
};

/// The DFAs of a grammar's terminals, in one table: states are expressions, transitions their
/// derivatives, found when they are first asked for. Past a limit states are dead and `error` says
/// why.
class Lexer {
 public:
  Lexer(const ExprPool& pool, const LexerLimits& limits);
  // Not movable: it refers to its own pool.
  Lexer(const Lexer&) = delete;
  Lexer& operator=(const Lexer&) = delete;

  /// Before more is asked of it; see LexerLimits.
  void AddWork(std::uint64_t n_steps) { pool_.work().Add(n_steps, limits_.max_work); }
  /// Work that others do with its states.
  void Spend(std::uint64_t n_steps) {
    if (!pool_.work().Spend(n_steps)) Fail(pool_.exhaustion());
  }

  /// kDead when the expression matches nothing.
  LexState StateOf(ExprId e);

  LexState Next(LexState state, std::uint8_t byte) {
    const std::size_t at = std::size_t{state} * n_classes_ + class_of_[byte];
    const LexState next = rows_[at];
    return next != kUnknown ? next : Find(state, class_of_[byte]);
  }
  /// The text may end here.
  bool accepts(LexState state) const { return pool_.nullable(exprs_[state]); }
  /// It may end here, and nothing more can come.
  bool is_final(LexState state) const { return exprs_[state] == kEmptyText; }
  ExprId expr(LexState state) const { return exprs_[state]; }

  /// What was made up to here.
  struct Mark {
    std::size_t n_expressions, n_states;
  };
  Mark Now() const { return {pool_.size(), exprs_.size()}; }
  /// Forgets what was made since; states and expressions of since are of no more use.
  void RollBack(const Mark& mark);

  ExprPool& pool() { return pool_; }
  const ExprPool& pool() const { return pool_; }
  /// One byte of each class that the grammar tells apart.
  const std::vector<std::uint8_t>& class_bytes() const { return class_bytes_; }
  std::size_t n_states() const { return exprs_.size(); }
  std::size_t n_bytes() const;
  const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr LexState kUnknown = UINT32_MAX;

  bool IsEmptyTextAlone(ExprId e);
  LexState Find(LexState state, std::uint8_t byte_class);
  void Fail(Error error);

  ExprPool pool_;
  LexerLimits limits_;
  Emptiness emptiness_;
  std::vector<std::uint8_t> class_bytes_;
  std::array<std::uint8_t, 256> class_of_{};
  std::size_t n_classes_ = 0;
  std::vector<LexState> rows_;  // [n_states, n_classes]
  std::vector<ExprId> exprs_;   // by state
  std::unordered_map<ExprId, LexState> states_;
  std::optional<Error> error_;
};

}  // namespace lattice::grammar
