#include "grammar/emptiness.h"

#include <queue>
#include <string>
#include <unordered_set>
#include <utility>

namespace lattice::grammar {

std::vector<std::uint8_t> ClassBytes(const ExprPool& pool) {
  std::vector<std::uint8_t> bytes{0};
  for (unsigned byte = 1; byte < 256; ++byte) {
    if (pool.boundaries()[byte]) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  return bytes;
}

bool Emptiness::IsKnown(const ExprPool& pool, ExprId e, bool& matches) const {
  const ExprPool::Node& n = pool.node(e);
  if (n.is_sure || !n.has_logic) {
    matches = e != kEmptySet;
    return true;
  }
  const auto at = known_.find(e);
  if (at == known_.end()) return false;
  matches = at->second;
  return true;
}

Result<bool> Emptiness::MatchesSomething(ExprPool& pool, ExprId root) {
  bool matches = false;
  if (IsKnown(pool, root, matches)) return matches;
  // A search for any state that is known to match, those with the shortest way to an end first:
  // nearly always straight to it. Each state's finder is kept, as all of those match then too.
  struct Seen {
    ExprId e;
    std::size_t parent;
    std::size_t n_classes;  // bytes that it was followed by
  };
  const std::vector<std::uint8_t> bytes = ClassBytes(pool);
  std::vector<Seen> seen;
  std::unordered_set<ExprId> queued{root};
  std::priority_queue<std::pair<int, std::size_t>> open;  // nearest, then newest
  const auto nearness = [&](ExprId e) { return -int{pool.node(e).shortest}; };
  open.emplace(nearness(root), 0);
  seen.push_back({root, 0, 0});
  while (!open.empty()) {
    const std::size_t i = open.top().second;
    const ExprId e = seen[i].e;
    open.pop();
    while (seen[i].n_classes < bytes.size()) {
      const ExprId next = pool.Derivative(e, bytes[seen[i].n_classes++]);
      if (pool.exhausted()) return pool.exhaustion();
      if (IsKnown(pool, next, matches)) {
        if (!matches) continue;
        for (std::size_t at = i;; at = seen[at].parent) {
          known_[seen[at].e] = true;
          if (at == 0) return true;
        }
      }
      if (!queued.insert(next).second) continue;
      open.emplace(nearness(next), seen.size());
      seen.push_back({next, i, 0});
      if (nearness(next) > nearness(e)) {  // The other bytes when this leads nowhere.
        open.emplace(nearness(e), i);
        break;
      }
    }
    if (seen.size() > max_states_) {
      return Error{ErrorCode::kResourceExhausted,
                   "more than " + std::to_string(max_states_) +
                       " states of an intersection or complement do not tell whether any text "
                       "matches"};
    }
  }
  for (const Seen& s : seen) known_[s.e] = false;
  return false;
}

}  // namespace lattice::grammar
