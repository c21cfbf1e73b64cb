#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "grammar/automaton.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// One text of a grammar, as far as it has come. Copied to fork it; used by one thread at a time.
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<Automaton> automaton)
      : automaton_(std::move(automaton)), states_{automaton_->start()} {}
  /// For texts without a vocabulary.
  explicit Matcher(std::shared_ptr<const Grammar> grammar)
      : Matcher(std::make_shared<Automaton>(std::move(grammar), nullptr)) {}

  /// Goes on with these bytes: one step, for Rollback. kInvalidArgument when no text of the grammar
  /// does: nothing has changed then. kResourceExhausted: a limit.
  Status Accept(std::string_view bytes);
  Status AcceptToken(TokenId id);
  /// Takes back the last n steps; n is at most n_steps.
  void Rollback(std::size_t n);
  std::size_t n_steps() const { return states_.size() - 1; }

  /// The text may end here.
  bool is_complete() const { return automaton_->is_complete(state()); }
  /// Something may follow.
  bool can_continue() const { return automaton_->can_continue(state()); }
  /// As Automaton's.
  Status Fill(std::span<std::uint64_t> allowed) { return automaton_->Fill(state(), allowed); }
  Result<std::string> Forced(std::size_t max_bytes) const {
    return automaton_->Forced(state(), max_bytes);
  }

 private:
  State state() const { return states_.back(); }

  std::shared_ptr<Automaton> automaton_;
  std::vector<State> states_;  // after each step; the first is before all
};

/// Whether `text` is a text of the grammar. kResourceExhausted: a limit.
Result<bool> Matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text);

}  // namespace lattice::grammar
