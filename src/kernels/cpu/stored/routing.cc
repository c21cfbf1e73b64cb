#include "kernels/cpu/stored/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lattice/check.h"

namespace lattice::kernels {

void RouteToken(std::span<const float> logits, bool renormalise, const float* expert_scale,
                std::span<float> p, std::span<std::uint32_t> experts, std::span<float> weights) {
  LATTICE_DCHECK(p.size() == logits.size() && experts.size() <= logits.size());
  float largest = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) largest = std::max(largest, logit);
  float sum = 0;
  for (std::size_t e = 0; e < p.size(); ++e) {
    p[e] = std::exp(logits[e] - largest);
    sum += p[e];
  }
  for (float& v : p) v /= sum;
  // Each round takes the largest that is left and puts a mark below all probabilities in its place.
  constexpr float kTaken = -2, kNan = -1;
  for (float& v : p) v = std::isnan(v) ? kNan : v;
  float chosen_sum = 0;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(p) - p.begin());
    experts[i] = static_cast<std::uint32_t>(best);
    weights[i] = p[best] == kNan ? std::numeric_limits<float>::quiet_NaN() : p[best];
    chosen_sum += weights[i];
    p[best] = kTaken;
  }
  for (std::size_t i = 0; i < experts.size(); ++i) {
    if (renormalise) weights[i] /= chosen_sum;
    if (expert_scale != nullptr) weights[i] *= expert_scale[experts[i]];
  }
}

void GroupByExpert(std::span<const std::uint32_t> experts, std::size_t n_used,
                   const ExpertGroups& groups) {
  std::ranges::fill(groups.first, 0u);
  for (const std::uint32_t e : experts) ++groups.first[e + 1];
  for (std::size_t e = 1; e < groups.first.size(); ++e) groups.first[e] += groups.first[e - 1];
  // first[e] moves to the end of the expert while its places are dealt out, and back by one expert
  // after.
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const std::uint32_t slot = groups.first[experts[i]]++;
    groups.slot_of[i] = slot;
    groups.token_of[slot] = static_cast<std::uint32_t>(i / n_used);
  }
  for (std::size_t e = groups.first.size() - 1; e > 0; --e) groups.first[e] = groups.first[e - 1];
  groups.first[0] = 0;
}

}  // namespace lattice::kernels
