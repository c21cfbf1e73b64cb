#include <algorithm>
#include <string>

#include "grammar/grammar.h"
#include "grammar/rule_compiler.h"

namespace lattice::grammar {
namespace {

Error TooMuch(std::string_view what, std::size_t limit) {
  return {ErrorCode::kResourceExhausted,
          "the grammar has more than " + std::to_string(limit) + " " + std::string(what)};
}

}  // namespace

GrammarBuilder::GrammarBuilder(const GrammarLimits& limits)
    : limits_(limits),
      pool_(limits.max_expressions, limits.max_expression_depth),
      emptiness_(limits.max_states_to_decide) {
  pool_.work().Set(limits.max_work);
}

Expr GrammarBuilder::Made(ExprId id) {
  if (pool_.exhausted()) Fail(pool_.exhaustion());
  return {id};
}

std::vector<ExprId> GrammarBuilder::Ids(std::span<const Expr> exprs) {
  std::vector<ExprId> ids;
  for (const Expr e : exprs) ids.push_back(e.id);
  return ids;
}

void GrammarBuilder::Fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Expr GrammarBuilder::Literal(std::string_view bytes) { return Made(pool_.Literal(bytes)); }

Expr GrammarBuilder::Byte(std::uint8_t first, std::uint8_t last) {
  if (first > last) return Nothing();
  return Made(pool_.Bytes({{first, last, kEmptyText}}));
}

Expr GrammarBuilder::Chars(const CharSet& set) { return Made(pool_.Chars(set)); }

Expr GrammarBuilder::Concat(std::span<const Expr> parts) {
  ExprId e = kEmptyText;
  for (std::size_t i = parts.size(); i-- > 0;) e = pool_.Concat(parts[i].id, e);
  return Made(e);
}

Expr GrammarBuilder::Or(std::span<const Expr> choices) { return Made(pool_.Or(Ids(choices))); }
Expr GrammarBuilder::And(std::span<const Expr> all) { return Made(pool_.And(Ids(all))); }
Expr GrammarBuilder::Not(Expr e) { return Made(pool_.Not(e.id)); }

Expr GrammarBuilder::Repeat(Expr e, std::uint32_t min, std::uint32_t max) {
  if (min > max) {
    Fail({ErrorCode::kInvalidArgument, "a repetition of at least " + std::to_string(min) +
                                           " and at most " + std::to_string(max)});
  }
  return Made(pool_.Repeat(e.id, min, max));
}

Result<bool> GrammarBuilder::MatchesSomething(Expr e) {
  return emptiness_.MatchesSomething(pool_, e.id);
}

bool GrammarBuilder::Matches(Expr e, std::string_view bytes) {
  ExprId at = e.id;
  for (const char c : bytes) at = pool_.Derivative(at, static_cast<std::uint8_t>(c));
  return pool_.nullable(Made(at).id);
}

Symbol GrammarBuilder::AddNode(const Node& node) {
  if (nodes_.size() + children_.size() >= limits_.max_symbols) {
    Fail(TooMuch("symbols", limits_.max_symbols));
    return {0};
  }
  nodes_.push_back(node);
  return {static_cast<std::uint32_t>(nodes_.size() - 1)};
}

Symbol GrammarBuilder::AddList(NodeKind kind, std::span<const Symbol> children) {
  const Node node{kind, static_cast<std::uint32_t>(children_.size()),
                  static_cast<std::uint32_t>(children.size())};
  const Symbol made = AddNode(node);
  if (failed()) return made;
  for (const Symbol child : children) children_.push_back(child.id);
  return made;
}

Symbol GrammarBuilder::Terminal(Expr e) { return AddNode({NodeKind::kTerminal, e.id}); }

Symbol GrammarBuilder::Sequence(std::span<const Symbol> parts) {
  return parts.size() == 1 ? parts[0] : AddList(NodeKind::kSequence, parts);
}

Symbol GrammarBuilder::Choice(std::span<const Symbol> choices) {
  return choices.size() == 1 ? choices[0] : AddList(NodeKind::kChoice, choices);
}

Symbol GrammarBuilder::Repeat(Symbol s, std::uint32_t min, std::uint32_t max) {
  if (min > max) {
    Fail({ErrorCode::kInvalidArgument, "a repetition of at least " + std::to_string(min) +
                                           " and at most " + std::to_string(max)});
  }
  if (max == 0) return Nil();
  if (min == 1 && max == 1) return s;
  return AddNode({NodeKind::kRepeat, s.id, 0, min, max});
}

// One and its separator, as often as `part` still may after n_before of its kind.
Symbol GrammarBuilder::After(const SequencePart& part, Symbol separator, std::uint32_t n_before) {
  const auto less = [n_before](std::uint32_t n) {
    return n == kNoLimit ? n : n - std::min(n, n_before);
  };
  return Repeat(Sequence({separator, part.symbol}), less(part.min), less(part.max));
}

Symbol GrammarBuilder::SeparatedSequence(std::span<const SequencePart> parts, Symbol separator) {
  Symbol first = Nil();  // the rest, when nothing stands before it
  Symbol after = first;  // the rest, when something does
  for (std::size_t i = parts.size(); i-- > 0;) {
    const SequencePart& part = parts[i];
    if (part.max == 0) continue;
    const Symbol with = Sequence({part.symbol, After(part, separator, 1), after});
    first = part.min == 0 ? Choice({with, first}) : with;
    after = Sequence({After(part, separator, 0), after});
  }
  return first;
}

Symbol GrammarBuilder::Rule(std::string_view name) {
  names_.emplace_back(name);
  return AddNode({NodeKind::kRule, kUndefined, static_cast<std::uint32_t>(names_.size() - 1)});
}

void GrammarBuilder::Define(Symbol rule, Symbol body) {
  if (failed()) return;
  Node& node = nodes_[rule.id];
  LATTICE_CHECK(node.kind == NodeKind::kRule);
  if (node.a != kUndefined) {
    Fail({ErrorCode::kInvalidArgument, "rule '" + names_[node.n] + "' is defined twice"});
  }
  node.a = body.id;
}

GrammarBuilder::Mark GrammarBuilder::Now() const {
  return {.n_expressions = pool_.size(),
          .n_nodes = nodes_.size(),
          .n_children = children_.size(),
          .n_names = names_.size(),
          .work_left = pool_.work().left()};
}

void GrammarBuilder::RollBack(const Mark& mark) {
  pool_.Truncate(mark.n_expressions);
  pool_.work().Set(mark.work_left);
  emptiness_.Truncate(mark.n_expressions);
  nodes_.resize(mark.n_nodes);
  children_.resize(mark.n_children);
  names_.resize(mark.n_names);
  error_.reset();
}

std::span<const std::uint32_t> GrammarBuilder::ChildrenOf(const Node& node) const {
  if (node.kind == NodeKind::kTerminal || node.a == kUndefined) return {};
  const bool is_list = node.kind == NodeKind::kSequence || node.kind == NodeKind::kChoice;
  return is_list ? std::span(children_).subspan(node.a, node.n) : std::span(&node.a, 1);
}

// Nodes that match something make those match that use them.
Result<bool> GrammarBuilder::MatchesSomething(Symbol symbol) {
  std::vector<bool> matches(nodes_.size(), false), seen(nodes_.size(), false);
  std::vector<std::vector<std::uint32_t>> users(nodes_.size());
  std::vector<std::uint32_t> found{symbol.id}, todo;
  seen[symbol.id] = true;
  const auto is_sure = [&](const Node& node) {
    const auto does = [&](std::uint32_t child) { return matches[child]; };
    const auto children = ChildrenOf(node);
    if (node.kind == NodeKind::kRepeat && node.min == 0) return true;
    if (node.kind == NodeKind::kSequence) return std::ranges::all_of(children, does);
    return std::ranges::any_of(children, does);
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint32_t id = found[i];
    const Node& node = nodes_[id];
    for (const std::uint32_t child : ChildrenOf(node)) {
      users[child].push_back(id);
      if (seen[child]) continue;
      seen[child] = true;
      found.push_back(child);
    }
    if (node.kind == NodeKind::kTerminal) {
      LATTICE_TRY(const bool does, MatchesSomething(Expr{node.a}));
      matches[id] = does;
    } else {
      matches[id] = is_sure(node);
    }
    if (matches[id]) todo.push_back(id);
  }
  while (!todo.empty()) {
    const std::uint32_t id = todo.back();
    todo.pop_back();
    for (const std::uint32_t user : users[id]) {
      if (matches[user] || !is_sure(nodes_[user])) continue;
      matches[user] = true;
      todo.push_back(user);
    }
  }
  return static_cast<bool>(matches[symbol.id]);
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::Build(Symbol root) && {
  if (error_) return *std::move(error_);
  return RuleCompiler(*this).Compile(root);
}

}  // namespace lattice::grammar
