#include "grammar/emptiness.h"

#include <string>

namespace lattice::grammar {

std::vector<std::uint8_t> ClassBytes(const ExprPool& pool) {
  std::vector<std::uint8_t> bytes{0};
  for (unsigned byte = 1; byte < 256; ++byte) {
    if (pool.boundaries()[byte]) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  return bytes;
}

bool Emptiness::IsKnown(ExprId e, bool& matches) const {
  const ExprPool::Node& n = pool_.node(e);
  if (n.nullable || !n.has_logic) {
    matches = e != kEmptySet;
    return true;
  }
  const auto at = known_.find(e);
  if (at == known_.end()) return false;
  matches = at->second;
  return true;
}

Result<bool> Emptiness::MatchesSomething(ExprId root) {
  bool matches = false;
  if (IsKnown(root, matches)) return matches;
  // A search for any state that is known to match; each state's finder is kept, as all of those
  // match then too.
  struct Seen {
    ExprId e;
    std::size_t parent;
  };
  const std::vector<std::uint8_t> bytes = ClassBytes(pool_);
  std::vector<Seen> seen{{root, 0}};
  std::unordered_map<ExprId, bool> queued{{root, true}};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const std::uint8_t byte : bytes) {
      const ExprId next = pool_.Derivative(seen[i].e, byte);
      if (pool_.exhausted()) return pool_.exhaustion();
      if (IsKnown(next, matches)) {
        if (!matches) continue;
        for (std::size_t at = i;; at = seen[at].parent) {
          known_[seen[at].e] = true;
          if (at == 0) return true;
        }
      }
      if (queued.emplace(next, true).second) seen.push_back({next, i});
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
