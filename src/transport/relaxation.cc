#include "transport/relaxation.h"

#include <cstddef>
#include <vector>

namespace lattice::transport {

// Targets by rising `exact`: below some place they are full, the others receive in proportion to
// e^(bound / epsilon).
double PartialBound(std::span<const double> exact, std::span<const double> b, double share,
                    double epsilon) {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < b.size(); ++j) {
    if (b[j] == 0) continue;
    if (!std::isfinite(exact[j])) return std::numeric_limits<double>::infinity();
    order.push_back(j);
  }
  std::ranges::sort(order, {}, [&](std::size_t j) { return exact[j]; });
  std::vector<double> full(order.size() + 1);  // The weights before a place.
  for (std::size_t i = 0; i < order.size(); ++i) full[i + 1] = full[i] + b[order[i]];
  const double wanted = share * full.back();
  // What the places from i on receive with the bound exact[i].
  double rest = b[order.back()];
  std::size_t i = order.size() - 1;
  while (i > 0) {
    const double step = exact[order[i - 1]] - exact[order[i]];
    const double next = b[order[i - 1]] + rest * std::exp(step / epsilon);
    if (full[i - 1] + next < wanted) break;
    rest = next;
    --i;
  }
  // wanted > full[i]: full[i] is at most what the loop found too little.
  return exact[order[i]] + epsilon * std::log((wanted - full[i]) / rest);
}

}  // namespace lattice::transport
