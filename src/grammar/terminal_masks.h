#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/lexer.h"
#include "grammar/vocabulary.h"

namespace lattice::grammar {

/// The TerminalMask of each state of a lexer. States that no token of the vocabulary can tell apart
/// have one in common (those of counters far from their bounds), and so have equal states of other
/// grammars.
class TerminalMasks {
 public:
  /// Both outlive it.
  TerminalMasks(Lexer& lexer, const Vocabulary& vocabulary)
      : lexer_(lexer), vocabulary_(vocabulary) {}

  const TerminalMask& Of(LexState state);
  std::size_t n_bytes() const { return n_bytes_; }
  /// Those kept go; references to them end.
  void Clear();

 private:
  std::shared_ptr<const TerminalMask> Find(LexState state);
  std::shared_ptr<const TerminalMask> OfExpr(ExprId e);
  TerminalMask Compute(ExprId e);
  bool PlainStretch(ExprId e, std::size_t& n_chars);
  bool EndsUnlikePlain(ExprId e) const;
  bool TakesPlainOneByOne(ExprId item);
  bool RefusesPlain(ExprId rest);
  void Walk(const TokenTrie& trie, LexState from, TerminalMask& mask,
            std::vector<TokenId>& tokens) const;
  void WalkALabel(const TokenTrie& trie, LexState from, std::size_t n_free, TerminalMask& mask,
                  std::vector<TokenId>& tokens) const;
  TerminalMask WithoutSome(ExprId whole, ExprId without_nots, ExprId nots);
  void MarkRefused(const TokenTrie& trie, LexState whole, LexState nots, bool for_exits,
                   TerminalMask& mask) const;
  void MergeExits(TerminalMask& mask) const;

  Lexer& lexer_;
  const Vocabulary& vocabulary_;
  std::unordered_map<LexState, std::shared_ptr<const TerminalMask>> masks_;
  std::unordered_map<LexState, std::shared_ptr<const TerminalMask>> exact_;  // without Clamp
  std::unordered_map<ExprId, bool> one_by_one_;
  std::size_t n_bytes_ = 0;
};

}  // namespace lattice::grammar
