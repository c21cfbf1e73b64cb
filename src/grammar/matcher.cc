#include "grammar/matcher.h"

#include "lattice/check.h"

namespace lattice::grammar {

Status Matcher::Accept(std::string_view bytes) {
  LATTICE_TRY(const State next, automaton_->Next(state(), bytes));
  if (next == kNoState) {
    return Error{ErrorCode::kInvalidArgument, "no text of the grammar goes on so"};
  }
  states_.push_back(next);
  return Ok();
}

Status Matcher::AcceptToken(TokenId id) {
  const Vocabulary& vocabulary = *automaton_->vocabulary();
  if (id < 0 || static_cast<std::size_t>(id) >= vocabulary.size() || vocabulary.token(id).empty()) {
    return Error{ErrorCode::kInvalidArgument, "a token without text"};
  }
  return Accept(vocabulary.token(id));
}

void Matcher::Rollback(std::size_t n) {
  LATTICE_CHECK(n <= n_steps());
  states_.resize(states_.size() - n);
}

Result<bool> Matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Automaton automaton(grammar, nullptr);
  LATTICE_TRY(const State state, automaton.Next(automaton.start(), text));
  return automaton.is_complete(state);
}

}  // namespace lattice::grammar
