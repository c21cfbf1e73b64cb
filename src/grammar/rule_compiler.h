#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/grammar.h"
#include "lattice/result.h"

namespace lattice::grammar {

/// From a builder's nodes to the rules that the parser reads. What is regular becomes terminals:
/// the fewer there are, the less there is to parse. But a lexeme with a loop and a clear end (a
/// JSON string) stays by itself, so that its masks can be shared by all grammars that have it.
class RuleCompiler {
 public:
  explicit RuleCompiler(GrammarBuilder& builder) : builder_(builder), pool_(builder.pool_) {}

  Result<std::shared_ptr<const Grammar>> Compile(Symbol root);

 private:
  using NodeKind = GrammarBuilder::NodeKind;
  using Node = GrammarBuilder::Node;

  // A terminal's expression, or the node that must become a rule.
  struct Part {
    bool is_terminal;
    std::uint32_t id;
  };
  // What became of a node.
  struct Form {
    bool is_done = false;
    bool is_recursive = false;       // reached from within itself
    std::uint32_t depth = 0;         // of the nodes that were merged into it
    std::vector<Part> sequence;      // one terminal, or a sequence
    std::vector<Part> alternatives;  // or else these
  };
  struct Draft {
    std::vector<std::vector<Part>> alternatives;  // parts that are no terminals name drafts
    bool is_repeat = false;
    std::uint32_t min = 1;
    std::uint32_t max = 1;
  };

  Result<std::vector<std::uint32_t>> ChildrenFirst(std::uint32_t root);
  void MakeForm(std::uint32_t id);
  std::vector<Part> PartsOf(std::uint32_t id) const;
  std::vector<Part> MergeTerminals(const std::vector<Part>& parts);
  bool IsMergeable(std::uint32_t id) const;
  bool IsTerminal(std::uint32_t id) const;
  bool IsLoopy(ExprId e);
  bool HasClearEnd(ExprId e) const;
  bool StandsAlone(ExprId e) { return IsLoopy(e) && HasClearEnd(e); }

  std::uint32_t DraftOf(std::uint32_t node, std::vector<std::uint32_t>& todo);
  void MakeDrafts(std::uint32_t root);
  template <typename TerminalIs, typename RepeatIs>
  std::vector<bool> Fixpoint(TerminalIs terminal_is, RepeatIs repeat_is) const;
  void Prune(const std::vector<bool>& productive);
  void Number(const std::vector<bool>& nullable, std::vector<Grammar::Step>& steps,
              std::vector<Grammar::RuleInfo>& rules) const;

  GrammarBuilder& builder_;
  ExprPool& pool_;
  std::vector<Form> forms_;
  std::vector<Draft> drafts_;
  std::unordered_map<std::uint32_t, std::uint32_t> draft_of_;  // by node
  std::unordered_map<ExprId, bool> loopy_;
  std::unordered_map<ExprId, bool> matches_;  // of terminals: anything at all
};

}  // namespace lattice::grammar
