#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/parser.h"
#include "grammar/terminal_masks.h"
#include "grammar/vocabulary.h"
#include "lattice/result.h"

namespace lattice::grammar {

struct AutomatonLimits {
  ParserLimits parser;
  std::size_t mask_bytes = 32u << 20;  ///< Masks of places that are kept.
};

/// A grammar at work with a vocabulary: what its texts have asked for so far is kept, so one serves
/// all texts of a grammar, at any number of threads (one at a time).
class Automaton {
 public:
  /// vocabulary  may be null: bytes alone then.
  Automaton(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const Vocabulary> vocabulary,
            const AutomatonLimits& limits = {});

  State start() const { return parser_.start(); }
  /// kNoState when no text of the grammar begins so. kResourceExhausted: a limit.
  Result<State> Next(State state, std::string_view bytes);
  bool is_complete(State state) const;
  bool can_continue(State state) const;
  /// The bytes that must come next, up to max_bytes of them; none where the text may end.
  Result<std::string> Forced(State state, std::size_t max_bytes);
  /// Clears the bits of tokens after which no text of the grammar goes on or ends.
  /// allowed  at least Vocabulary::n_words words; those beyond are cleared.
  Status Fill(State state, std::span<std::uint64_t> allowed);

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  std::size_t n_bytes() const;
  /// After an error the automaton is of no more use.
  bool has_failed() const;

 private:
  struct Mask {
    TokenBits bits;            // or
    std::vector<TokenId> ids;  // if bits is empty
  };

  int OnlyByte(State state);
  const Mask& MaskOf(State state);
  Mask Compute(State state);
  void AddBelow(State state, const TokenTrie& trie, TokenTrie::Range range);
  void AddThread(const Parser::Thread& thread, const TokenTrie& trie, TokenTrie::Range range);
  void WalkTogether(State state, const TokenTrie& trie);
  Status Check() const;

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  AutomatonLimits limits_;
  mutable std::mutex mutex_;
  Parser parser_;
  TerminalMasks terminals_;
  std::unordered_map<State, Mask> masks_;
  std::size_t mask_bytes_ = 0;
  std::unordered_map<State, int> only_bytes_;  // what OnlyByte said

  // Of the mask that is being made.
  std::vector<TokenId> tokens_;
  std::unordered_set<std::uint64_t> visited_;
  std::size_t n_walks_ = 0;
};

}  // namespace lattice::grammar
