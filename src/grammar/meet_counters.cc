#include "grammar/meet_counters.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace lattice::grammar {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxChoices = 64;
constexpr std::size_t kMaxPairs = 2000;

using Pair = std::pair<ExprId, ExprId>;

bool ShareByte(std::span<const ExprPool::Edge> a, std::span<const ExprPool::Edge> b) {
  return std::ranges::any_of(a, [&](const auto& x) {
    return std::ranges::any_of(
        b, [&](const auto& y) { return x.first <= y.last && y.first <= x.last; });
  });
}

class Meeting {
 public:
  explicit Meeting(ExprPool& pool) : pool_(pool) {}

  /// What matches both, of short texts; absent when it is not found without an And.
  std::optional<ExprId> Both(ExprId a, ExprId b, int depth) {
    if (a == b) return a;
    const std::vector<ExprId> xs = Choices(a), ys = Choices(b);
    if (depth > kMaxDepth || xs.size() > kMaxChoices || ys.size() > kMaxChoices) return {};
    std::vector<ExprId> both;
    for (const ExprId x : xs) {
      for (const ExprId y : ys) {
        const auto one = BothSingle(x, y, depth);
        if (!one) return {};
        both.push_back(*one);
      }
    }
    return pool_.Or(std::move(both));
  }

  /// Whether no text of a or b begins another one of either.
  bool IsCode(ExprId a, ExprId b) {
    std::set<Pair> seen{{a, b}};
    std::vector<Pair> todo{{a, b}};
    for (std::size_t i = 0; i < todo.size(); ++i) {
      const auto [x, y] = todo[i];
      for (unsigned byte = 0; byte < 256; ++byte) {
        if (byte != 0 && !pool_.boundaries()[byte]) continue;
        if (!pool_.work().Spend(4)) return false;
        const Pair next{pool_.Derivative(x, static_cast<std::uint8_t>(byte)),
                        pool_.Derivative(y, static_cast<std::uint8_t>(byte))};
        const bool x_ends = pool_.nullable(next.first), y_ends = pool_.nullable(next.second);
        if (x_ends || y_ends) {
          if ((x_ends && next.first != kEmptyText) || (y_ends && next.second != kEmptyText)) {
            return false;
          }
          if (next.first > kEmptyText || next.second > kEmptyText) return false;
        } else if (next != Pair{kEmptySet, kEmptySet} && seen.insert(next).second) {
          todo.push_back(next);
          if (todo.size() > kMaxPairs) return false;
        }
      }
    }
    return true;
  }

  /// Whether no text of `rest` begins with the first byte of one of `item`.
  bool BeginsApart(ExprId rest, ExprId item) {
    if (rest == kEmptyText) return true;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (byte != 0 && !pool_.boundaries()[byte]) continue;
      if (pool_.Derivative(rest, static_cast<std::uint8_t>(byte)) != kEmptySet &&
          pool_.Derivative(item, static_cast<std::uint8_t>(byte)) != kEmptySet) {
        return false;
      }
    }
    return !pool_.nullable(rest);
  }

 private:
  std::vector<ExprId> Choices(ExprId e) const {
    if (pool_.node(e).kind != ExprKind::kOr) return {e};
    const auto choices = pool_.children(e);
    return {choices.begin(), choices.end()};
  }

  std::optional<ExprId> BothSingle(ExprId x, ExprId y, int depth) {
    if (x == y) return x;
    const ExprPool::Node a = pool_.node(x), b = pool_.node(y);
    const bool a_concat = a.kind == ExprKind::kConcat, b_concat = b.kind == ExprKind::kConcat;
    const ExprId a_head = a_concat ? a.a : x, b_head = b_concat ? b.a : y;
    if (pool_.node(a_head).kind != ExprKind::kBytes ||
        pool_.node(b_head).kind != ExprKind::kBytes) {
      return {};
    }
    if (!ShareByte(pool_.edges(a_head), pool_.edges(b_head))) return kEmptySet;
    if (!a_concat && !b_concat) return pool_.And({x, y});
    if (a_concat != b_concat || a_head != b_head) return {};
    const auto rest = Both(a.b, b.b, depth + 1);
    if (!rest) return {};
    return pool_.Concat(a_head, *rest);
  }

  ExprPool& pool_;
};

}  // namespace

void MeetCounters(ExprPool& pool, std::vector<ExprId>& parts) {
  const auto split = [&pool](ExprId e) {
    const bool is_concat = pool.node(e).kind == ExprKind::kConcat;
    return Pair{is_concat ? pool.node(e).a : e, is_concat ? pool.node(e).b : kEmptyText};
  };
  Meeting meeting(pool);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = i + 1; j < parts.size(); ++j) {
      const auto [head, rest] = split(parts[i]);
      const auto [other, other_rest] = split(parts[j]);
      const ExprPool::Node a = pool.node(head), b = pool.node(other);
      if (rest != other_rest || a.kind != ExprKind::kRepeat || b.kind != ExprKind::kRepeat)
        continue;
      if (!meeting.IsCode(a.a, b.a) || !meeting.BeginsApart(rest, a.a) ||
          !meeting.BeginsApart(rest, b.a)) {
        continue;
      }
      const auto both = meeting.Both(a.a, b.a, 0);
      if (!both) continue;
      parts[i] =
          pool.Concat(pool.Repeat(*both, std::max(a.min, b.min), std::min(a.max, b.max)), rest);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
      j = i;
    }
  }
}

}  // namespace lattice::grammar
