#include "grammar/lexer.h"

#include <string>
#include <utility>

namespace lattice::grammar {

Lexer::Lexer(const ExprPool& pool, const LexerLimits& limits)
    : pool_(pool),
      limits_(limits),
      emptiness_(limits.max_states_to_decide),
      class_bytes_(ClassBytes(pool_)),
      n_classes_(class_bytes_.size()) {
  // Derivatives nest a little deeper than what they are of.
  pool_.SetLimits(limits.max_expressions, pool_.max_depth() * 4);
  pool_.work().Set(limits.max_work);
  for (std::size_t c = 0; c < n_classes_; ++c) {
    const std::size_t end = c + 1 < n_classes_ ? class_bytes_[c + 1] : 256;
    for (std::size_t byte = class_bytes_[c]; byte < end; ++byte) {
      class_of_[byte] = static_cast<std::uint8_t>(c);
    }
  }
  exprs_.push_back(kEmptySet);
  rows_.resize(n_classes_, kDead);
  states_.emplace(kEmptySet, kDead);
}

void Lexer::Fail(Error error) {
  if (!error_) error_ = std::move(error);
}

LexState Lexer::StateOf(ExprId e) {
  if (pool_.exhausted()) Fail(pool_.exhaustion());
  if (const auto known = states_.find(e); known != states_.end()) return known->second;
  if (pool_.node(e).has_logic) {
    const auto matches = emptiness_.MatchesSomething(pool_, e);
    if (!matches) Fail(matches.error());
    if (error_ || !*matches) {
      states_.emplace(e, kDead);
      return kDead;
    }
  }
  if (exprs_.size() >= limits_.max_states) {
    Fail({ErrorCode::kResourceExhausted, "the text needs more than " +
                                             std::to_string(limits_.max_states) +
                                             " states of the grammar's terminals"});
    return kDead;
  }
  if (error_) return kDead;
  if (pool_.node(e).has_logic && pool_.nullable(e) && IsEmptyTextAlone(e)) {
    const LexState end = StateOf(kEmptyText);
    states_.emplace(e, end);
    return end;
  }
  const auto state = static_cast<LexState>(exprs_.size());
  exprs_.push_back(e);
  rows_.resize(rows_.size() + n_classes_, kUnknown);
  states_.emplace(e, state);
  return state;
}

// Of an expression that matches the empty text: whether no other, which And and Not can hide.
bool Lexer::IsEmptyTextAlone(ExprId e) {
  for (const std::uint8_t byte : class_bytes_) {
    const auto matches = emptiness_.MatchesSomething(pool_, pool_.Derivative(e, byte));
    if (!matches) Fail(matches.error());
    if (error_ || *matches) return false;
  }
  return true;
}

LexState Lexer::Find(LexState state, std::uint8_t byte_class) {
  const LexState next = StateOf(pool_.Derivative(exprs_[state], class_bytes_[byte_class]));
  rows_[std::size_t{state} * n_classes_ + byte_class] = next;
  return next;
}

void Lexer::RollBack(const Mark& mark) {
  exprs_.resize(mark.n_states);
  rows_.resize(mark.n_states * n_classes_);
  for (LexState& next : rows_) {
    if (next >= mark.n_states) next = kUnknown;
  }
  std::erase_if(states_, [&mark](const auto& known) {
    return known.first >= mark.n_expressions || known.second >= mark.n_states;
  });
  emptiness_.Truncate(mark.n_expressions);
  if (!pool_.exhausted()) pool_.Truncate(mark.n_expressions);
}

std::size_t Lexer::n_bytes() const {
  return pool_.n_bytes() + rows_.capacity() * sizeof(LexState) +
         exprs_.capacity() * sizeof(ExprId) + states_.size() * 32;
}

}  // namespace lattice::grammar
