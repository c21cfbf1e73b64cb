#include "grammar/rule_compiler.h"

#include <algorithm>
#include <string>

namespace lattice::grammar {
namespace {

// Repetitions up to here are no loop.
constexpr std::uint32_t kShortRepeat = 16;
// A sequence within a sequence is copied into it up to this length, and to this depth: a terminal
// is copied with each level that is added to it.
constexpr std::size_t kShortSequence = 8;
constexpr std::uint32_t kMaxMergedDepth = 32;

bool ShareByte(std::span<const ExprPool::Edge> a, std::span<const ExprPool::Edge> b) {
  for (const auto& x : a) {
    for (const auto& y : b) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

// Whether some text of `e` may begin with a byte of `edges`; true when that is hard to tell.
bool MayBeginWith(const ExprPool& pool, ExprId e, std::span<const ExprPool::Edge> edges) {
  const ExprPool::Node& n = pool.node(e);
  if (n.nullable) return true;
  switch (n.kind) {
    case ExprKind::kNoText:
      return false;
    case ExprKind::kBytes:
      return ShareByte(pool.edges(e), edges);
    case ExprKind::kConcat:
    case ExprKind::kRepeat:
      return MayBeginWith(pool, n.a, edges);
    case ExprKind::kOr:
      return std::ranges::any_of(pool.children(e),
                                 [&](ExprId c) { return MayBeginWith(pool, c, edges); });
    default:
      return true;
  }
}

}  // namespace

// All nodes that `root` reaches, each after its children; rules within themselves are marked.
Result<std::vector<std::uint32_t>> RuleCompiler::ChildrenFirst(std::uint32_t root) {
  struct Visit {
    std::uint32_t id;
    std::size_t next;
  };
  enum : std::uint8_t { kNew, kOpen, kClosed };
  std::vector<std::uint8_t> state(builder_.nodes_.size(), kNew);
  std::vector<std::uint32_t> order;
  std::vector<Visit> stack{{root, 0}};
  state[root] = kOpen;
  while (!stack.empty()) {
    const std::uint32_t id = stack.back().id;
    const Node& node = builder_.nodes_[id];
    if (node.kind == NodeKind::kRule && node.a == GrammarBuilder::kUndefined) {
      return Error{ErrorCode::kInvalidArgument,
                   "rule '" + builder_.names_[node.n] + "' is used and not defined"};
    }
    const auto children = builder_.ChildrenOf(node);
    if (stack.back().next == children.size()) {
      state[id] = kClosed;
      order.push_back(id);
      stack.pop_back();
      continue;
    }
    const std::uint32_t child = children[stack.back().next++];
    if (state[child] == kOpen) forms_[child].is_recursive = true;
    if (state[child] != kNew) continue;
    state[child] = kOpen;
    stack.push_back({child, 0});
  }
  return order;
}

bool RuleCompiler::IsLoopy(ExprId e) {
  if (const auto known = loopy_.find(e); known != loopy_.end()) return known->second;
  bool loopy = false;
  ExprId at = e;
  for (; pool_.node(at).kind == ExprKind::kConcat && !loopy; at = pool_.node(at).b) {
    loopy = IsLoopy(pool_.node(at).a);
  }
  const ExprPool::Node& n = pool_.node(at);
  if (n.kind == ExprKind::kOr) {
    for (const ExprId c : pool_.children(at)) loopy = loopy || IsLoopy(c);
  } else if (n.kind == ExprKind::kRepeat) {
    loopy = loopy || n.max > kShortRepeat || IsLoopy(n.a);
  } else {
    loopy =
        loopy || n.kind == ExprKind::kAnd || n.kind == ExprKind::kNot || n.kind == ExprKind::kHost;
  }
  return loopy_[e] = loopy;
}

// Whether no text goes on after its end; false when that is hard to tell.
bool RuleCompiler::HasClearEnd(ExprId e) const {
  ExprId before = kEmptyText;
  for (; pool_.node(e).kind == ExprKind::kConcat; e = pool_.node(e).b) before = pool_.node(e).a;
  const ExprPool::Node& last = pool_.node(e);
  switch (last.kind) {
    case ExprKind::kBytes:
      return pool_.node(before).kind == ExprKind::kRepeat &&
             !MayBeginWith(pool_, pool_.node(before).a, pool_.edges(e));
    case ExprKind::kAnd:
      return std::ranges::any_of(pool_.children(e), [this](ExprId c) { return HasClearEnd(c); });
    case ExprKind::kOr:
      return std::ranges::all_of(pool_.children(e), [this](ExprId c) { return HasClearEnd(c); });
    default:
      return false;
  }
}

bool RuleCompiler::IsMergeable(std::uint32_t id) const {
  const Form& form = forms_[id];
  return form.is_done && !form.is_recursive && form.depth < kMaxMergedDepth &&
         form.alternatives.empty();
}

bool RuleCompiler::IsTerminal(std::uint32_t id) const {
  return IsMergeable(id) && forms_[id].sequence.size() == 1 && forms_[id].sequence[0].is_terminal;
}

// What stands for a node in a sequence.
std::vector<RuleCompiler::Part> RuleCompiler::PartsOf(std::uint32_t id) const {
  if (IsMergeable(id) && forms_[id].sequence.size() <= kShortSequence) return forms_[id].sequence;
  return {{false, id}};
}

// Neighbouring terminals become one, up to one that stands alone.
std::vector<RuleCompiler::Part> RuleCompiler::MergeTerminals(const std::vector<Part>& parts) {
  std::vector<Part> merged;
  std::vector<ExprId> run;
  bool is_loopy = false;
  const auto flush = [&] {
    ExprId e = kEmptyText;
    for (std::size_t i = run.size(); i-- > 0;) e = pool_.Concat(run[i], e);
    if (e != kEmptyText) merged.push_back({true, e});
    run.clear();
    is_loopy = false;
  };
  for (const Part part : parts) {
    if (!part.is_terminal) {
      flush();
      merged.push_back(part);
      continue;
    }
    const ExprId end = run.empty() ? part.id : pool_.Concat(run.back(), part.id);
    run.push_back(part.id);
    is_loopy = is_loopy || IsLoopy(part.id);
    if (is_loopy && HasClearEnd(end)) flush();
  }
  flush();
  return merged;
}

void RuleCompiler::MakeForm(std::uint32_t id) {
  const Node node = builder_.nodes_[id];
  Form& form = forms_[id];
  switch (node.kind) {
    case NodeKind::kTerminal:
      if (node.a != kEmptyText) form.sequence = {{true, node.a}};
      break;
    case NodeKind::kSequence:
      for (const std::uint32_t child : builder_.ChildrenOf(node)) {
        const std::vector<Part> parts = PartsOf(child);
        form.sequence.insert(form.sequence.end(), parts.begin(), parts.end());
      }
      form.sequence = MergeTerminals(form.sequence);
      break;
    case NodeKind::kChoice: {
      std::vector<ExprId> merged;
      for (const std::uint32_t child : builder_.ChildrenOf(node)) {
        if (IsTerminal(child) && !StandsAlone(forms_[child].sequence[0].id)) {
          merged.push_back(forms_[child].sequence[0].id);
        } else {
          form.alternatives.push_back({false, child});
        }
      }
      const Part terminal{true, pool_.Or(std::move(merged))};
      if (form.alternatives.empty()) {
        form.sequence = {terminal};
      } else if (terminal.id != kEmptySet) {
        form.alternatives.push_back(terminal);
      }
      break;
    }
    case NodeKind::kRepeat:
      if (IsTerminal(node.a) && !StandsAlone(forms_[node.a].sequence[0].id)) {
        form.sequence = {{true, pool_.Repeat(forms_[node.a].sequence[0].id, node.min, node.max)}};
      } else {
        form.alternatives = {{false, node.a}};
      }
      break;
    case NodeKind::kRule:
      form.sequence = PartsOf(node.a);
      break;
  }
  for (const std::uint32_t child : builder_.ChildrenOf(node)) {
    if (IsMergeable(child)) form.depth = std::max(form.depth, forms_[child].depth + 1);
  }
  form.is_done = true;
}

// The draft of the rule that stands for a node.
std::uint32_t RuleCompiler::DraftOf(std::uint32_t node, std::vector<std::uint32_t>& todo) {
  const auto [at, is_new] = draft_of_.emplace(node, static_cast<std::uint32_t>(drafts_.size()));
  if (is_new) {
    drafts_.emplace_back();
    todo.push_back(node);
  }
  return at->second;
}

void RuleCompiler::MakeDrafts(std::uint32_t root) {
  std::vector<std::uint32_t> todo;
  DraftOf(root, todo);
  while (!todo.empty()) {
    const std::uint32_t id = todo.back();
    todo.pop_back();
    const Node& node = builder_.nodes_[id];
    const Form& form = forms_[id];
    Draft draft;
    if (form.alternatives.empty()) {
      draft.alternatives = {form.sequence};
    } else {
      for (const Part part : form.alternatives) {
        draft.alternatives.push_back(part.is_terminal ? std::vector{part} : PartsOf(part.id));
      }
    }
    if (node.kind == NodeKind::kRepeat && !form.alternatives.empty()) {
      draft.is_repeat = true;
      draft.min = node.min;
      draft.max = node.max;
      // The counter stands at one step.
      if (draft.alternatives[0].size() != 1) draft.alternatives = {{{false, node.a}}};
    }
    for (auto& alternative : draft.alternatives) {
      for (Part& part : alternative) {
        if (!part.is_terminal) part.id = DraftOf(part.id, todo);
      }
    }
    drafts_[draft_of_.at(id)] = std::move(draft);
  }
}

// The drafts with an alternative all of whose parts have a property.
template <typename TerminalIs, typename RepeatIs>
std::vector<bool> RuleCompiler::Fixpoint(TerminalIs terminal_is, RepeatIs repeat_is) const {
  struct Missing {
    std::uint32_t draft;
    std::size_t n_parts;
  };
  std::vector<Missing> alternatives;
  std::vector<std::vector<std::size_t>> uses(drafts_.size());
  std::vector<bool> is(drafts_.size(), false);
  std::vector<std::uint32_t> todo;
  const auto set = [&](std::uint32_t draft) {
    if (is[draft]) return;
    is[draft] = true;
    todo.push_back(draft);
  };
  for (std::uint32_t d = 0; d < drafts_.size(); ++d) {
    if (repeat_is(drafts_[d])) set(d);
    for (const auto& parts : drafts_[d].alternatives) {
      Missing missing{d, 0};
      bool possible = true;
      for (const Part part : parts) {
        if (!part.is_terminal) {
          ++missing.n_parts;
          uses[part.id].push_back(alternatives.size());
        } else {
          possible = possible && terminal_is(part.id);
        }
      }
      if (!possible) ++missing.n_parts;  // never reaches none
      if (missing.n_parts == 0) set(d);
      alternatives.push_back(missing);
    }
  }
  while (!todo.empty()) {
    const std::uint32_t draft = todo.back();
    todo.pop_back();
    for (const std::size_t use : uses[draft]) {
      if (--alternatives[use].n_parts == 0) set(alternatives[use].draft);
    }
  }
  return is;
}

// Alternatives that can match nothing go.
void RuleCompiler::Prune(const std::vector<bool>& productive) {
  for (Draft& draft : drafts_) {
    std::erase_if(draft.alternatives, [&](const std::vector<Part>& parts) {
      return std::ranges::any_of(parts, [&](const Part part) {
        return part.is_terminal ? !matches_.at(part.id) : !productive[part.id];
      });
    });
    if (draft.is_repeat && draft.alternatives.empty()) draft = {.alternatives = {{}}};
  }
}

void RuleCompiler::Number(const std::vector<bool>& nullable, std::vector<Grammar::Step>& steps,
                          std::vector<Grammar::RuleInfo>& rules) const {
  using Kind = Grammar::Step::Kind;
  for (std::uint32_t d = 0; d < drafts_.size(); ++d) {
    const Draft& draft = drafts_[d];
    Grammar::RuleInfo rule{.starts = {},
                           .nullable = nullable[d],
                           .is_repeat = draft.is_repeat,
                           .min = draft.min,
                           .max = draft.max};
    for (const auto& parts : draft.alternatives) {
      rule.starts.push_back(static_cast<std::uint32_t>(steps.size()));
      for (const Part part : parts) {
        const bool empty = part.is_terminal ? pool_.nullable(part.id) : nullable[part.id];
        // What repeats nothing repeats any number of times.
        if (draft.is_repeat && empty) rule.min = 0;
        steps.push_back({part.is_terminal ? Kind::kTerminal : Kind::kRule, empty, part.id});
      }
      steps.push_back({Kind::kEnd, true, d});
    }
    rules.push_back(std::move(rule));
  }
}

Result<std::shared_ptr<const Grammar>> RuleCompiler::Compile(Symbol root) {
  forms_.resize(builder_.nodes_.size());
  LATTICE_TRY(const std::vector<std::uint32_t> order, ChildrenFirst(root.id));
  for (const std::uint32_t id : order) MakeForm(id);
  MakeDrafts(root.id);
  for (const Draft& draft : drafts_) {
    for (const auto& parts : draft.alternatives) {
      for (const Part part : parts) {
        if (!part.is_terminal || matches_.contains(part.id)) continue;
        LATTICE_TRY(const bool matches, builder_.emptiness_.MatchesSomething(pool_, part.id));
        matches_[part.id] = matches;
      }
    }
  }
  builder_.Made(kEmptySet);
  if (builder_.error_) return *builder_.error_;
  const auto productive = Fixpoint([this](ExprId e) { return matches_.at(e); },
                                   [](const Draft& d) { return d.is_repeat && d.min == 0; });
  if (!productive[0]) {
    return Error{ErrorCode::kInvalidArgument, "no text matches the grammar"};
  }
  Prune(productive);
  const auto nullable = Fixpoint([this](ExprId e) { return pool_.nullable(e); },
                                 [](const Draft& d) { return d.is_repeat && d.min == 0; });
  std::vector<Grammar::Step> steps;
  std::vector<Grammar::RuleInfo> rules;
  Number(nullable, steps, rules);
  return std::make_shared<const Grammar>(std::move(pool_), std::move(steps), std::move(rules));
}

std::size_t Grammar::n_bytes() const {
  std::size_t n = pool_.n_bytes() + steps_.capacity() * sizeof(Step);
  for (const RuleInfo& rule : rules_) n += sizeof rule + rule.starts.capacity() * 4;
  return n;
}

}  // namespace lattice::grammar
