#include <utility>

#include "lattice/transport.h"

namespace lattice::transport {

Cost Cost::Between(const Points& source, const Points& target, Ground ground) {
  Cost cost;
  cost.kind_ = Kind::kPoints;
  cost.ground_ = ground;
  // Points of different dimensions have no cost: Make finds dims 0.
  cost.dims_ = source.dims == target.dims ? source.dims : 0;
  cost.n_sources_ = source.size();
  cost.n_targets_ = target.size();
  cost.source_ = source.values;
  cost.target_ = target.values;
  return cost;
}

Cost Cost::Matrix(std::span<const float> values, std::size_t n_sources, std::size_t n_targets) {
  Cost cost;
  cost.kind_ = Kind::kMatrix;
  cost.n_sources_ = n_sources;
  cost.n_targets_ = n_targets;
  cost.source_ = values;
  return cost;
}

Cost Cost::Function(std::function<float(std::size_t, std::size_t)> function, std::size_t n_sources,
                    std::size_t n_targets) {
  Cost cost;
  cost.kind_ = Kind::kFunction;
  cost.n_sources_ = n_sources;
  cost.n_targets_ = n_targets;
  cost.function_ = std::move(function);
  return cost;
}

}  // namespace lattice::transport
