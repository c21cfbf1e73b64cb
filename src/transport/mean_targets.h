#pragma once

#include <span>

#include "transport/sinkhorn.h"

namespace lattice::transport {

/// Where each source's mass arrives in the mean (its barycentric projection): sum over j of
/// plan[i][j] y[j] / sum over j of plan[i][j], out [n_sources, dims]. Of rows made from points,
/// with the targets as `rows` has them (less their centre).
void MeanTargets(const Engine& engine, const CostRows& rows, std::span<const double> a,
                 std::span<const double> b, const Transport& solution, std::span<float> out);

}  // namespace lattice::transport
