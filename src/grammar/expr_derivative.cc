// The states of a lazily built DFA: derivatives, and what short texts cannot tell from them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "grammar/expr_pool.h"

namespace lattice::grammar {
namespace {

std::uint32_t Less(std::uint32_t count) {
  return count == kUnbounded || count == 0 ? count : count - 1;
}

}  // namespace

ExprId ExprPool::Derivative(ExprId e, std::uint8_t byte) {
  if (!work_.Spend(1)) return kEmptySet;
  if (nodes_[e].kind != ExprKind::kConcat) return DeriveNoConcat(e, byte);
  std::vector<ExprId> choices;
  while (nodes_[e].kind == ExprKind::kConcat) {
    const ExprId first = nodes_[e].a;
    const ExprId rest = nodes_[e].b;
    choices.push_back(Concat(DeriveNoConcat(first, byte), rest));
    if (!nodes_[first].nullable) return choices.size() == 1 ? choices[0] : Or(std::move(choices));
    e = rest;
  }
  choices.push_back(DeriveNoConcat(e, byte));
  return Or(std::move(choices));
}

ExprId ExprPool::DeriveNoConcat(ExprId e, std::uint8_t byte) {
  const Node n = nodes_[e];
  switch (n.kind) {
    case ExprKind::kNoText:
    case ExprKind::kNil:
      return kEmptySet;
    case ExprKind::kBytes: {
      const auto out = edges(e);
      const auto after = std::ranges::upper_bound(out, byte, {}, &Edge::first);
      if (after == out.begin() || std::prev(after)->last < byte) return kEmptySet;
      return std::prev(after)->target;
    }
    case ExprKind::kConcat:
      return Derivative(e, byte);
    case ExprKind::kOr:
    case ExprKind::kAnd: {
      const ExprId dead = n.kind == ExprKind::kOr ? kAnyBytes : kEmptySet;
      std::vector<ExprId> parts;
      for (std::uint32_t i = 0; i < n.b; ++i) {
        const ExprId d = Derivative(children_[n.a + i], byte);
        if (d == dead) return dead;
        if (d != kEmptySet) parts.push_back(d);
      }
      return Join(std::move(parts), n.kind == ExprKind::kOr);
    }
    case ExprKind::kNot:
      return Not(Derivative(n.a, byte));
    case ExprKind::kHost: {
      const auto next = HostOf(e).Next(byte, work_);
      return next ? Host(*next) : kEmptySet;
    }
    case ExprKind::kRepeat: {
      const ExprId first = Derivative(n.a, byte);
      if (first == kEmptySet) return kEmptySet;
      return Concat(first, Repeat(n.a, Less(n.min), Less(n.max)));
    }
  }
  return kEmptySet;
}

ExprId ExprPool::Clamp(ExprId e, std::uint32_t n_bytes) {
  if (!work_.Spend(1)) return kEmptySet;
  const Node n = nodes_[e];
  if (!n.has_counter || (n.has_logic && n.kind != ExprKind::kConcat)) return e;
  switch (n.kind) {
    case ExprKind::kConcat: {
      std::vector<ExprId> spine;
      ExprId rest = e;
      for (; nodes_[rest].kind == ExprKind::kConcat; rest = nodes_[rest].b) {
        spine.push_back(Clamp(nodes_[rest].a, n_bytes));
      }
      rest = Clamp(rest, n_bytes);
      for (std::size_t i = spine.size(); i-- > 0;) rest = Concat(spine[i], rest);
      return rest;
    }
    case ExprKind::kOr: {
      std::vector<ExprId> parts(children(e).begin(), children(e).end());
      for (ExprId& part : parts) part = Clamp(part, n_bytes);
      return Or(std::move(parts));
    }
    case ExprKind::kRepeat:
      // Each turn takes a byte at least.
      return Repeat(Clamp(n.a, n_bytes), std::min(n.min, n_bytes + 1),
                    n.max > n_bytes ? kUnbounded : n.max);
    case ExprKind::kHost:
      return Host(HostOf(e).Clamp(n_bytes));
    default:
      return e;
  }
}

}  // namespace lattice::grammar
