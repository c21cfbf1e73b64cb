#pragma once

#include <span>
#include <vector>

#include "transport/sinkhorn.h"

namespace lattice::transport {

/// For each row the mean cost of the places that potentials `target` of the columns send it to:
/// sum over j of plan[i][j] C[i][j] / sum over j of plan[i][j].
std::vector<double> MeanCosts(const Engine& engine, const CostRows& cost, std::span<const double> b,
                              std::span<const double> target, double epsilon);

}  // namespace lattice::transport
