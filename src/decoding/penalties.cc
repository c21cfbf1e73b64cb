#include "decoding/penalties.h"

#include <algorithm>
#include <limits>

namespace lattice::decoding {

void Penalties::Apply(std::span<const TokenId> window, Candidates& candidates) {
  sorted_.assign(window.begin(), window.end());
  std::ranges::sort(sorted_);
  ids_.clear();
  counts_.clear();
  for (const TokenId id : sorted_) {
    if (ids_.empty() || ids_.back() != id) {
      ids_.push_back(id);
      counts_.push_back(0);
    }
    ++counts_.back();
  }
  candidates.Change(ids_, [&](float logit, std::size_t i) {
    logit = logit > 0 ? logit / repetition_ : logit * repetition_;
    constexpr float kMax = std::numeric_limits<float>::max();
    return std::clamp(logit - presence_ - counts_[i] * frequency_, -kMax, kMax);
  });
}

}  // namespace lattice::decoding
