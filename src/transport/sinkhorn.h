#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "lattice/transport.h"
#include "transport/cost_rows.h"
#include "transport/kernels.h"
#include "transport/plan_pass.h"

namespace lattice::transport {

/// What the calls of one piece of work share.
struct Engine {
  Kernels kernels;
  ThreadPool& pool;
  std::size_t matrix_budget_bytes;
  std::stop_token stop;
};

/// Weights of n points: given ones, checked, or equal ones; scaled to the sum 1 unless `keep_sum`.
Result<std::vector<double>> CheckedWeights(std::string_view what, std::span<const double> weights,
                                           std::size_t n, bool keep_sum = false);
std::vector<double> Logarithms(std::span<const double> x);

/// Checks ranges. The epsilon to use: the given one, or 5 % of the mean cost.
Result<double> CheckedEpsilon(const SinkhornOptions& options, const CostRows& cost);

/// kInvalidArgument for relaxed problems: `what` needs all mass to arrive at the given weights.
Status CheckBalanced(const SinkhornOptions& options, std::string_view what);

/// Solves one problem. One iteration reads the costs once: when a row's log-sum-exp is known, the
/// same exponentials, weighted, are summed for the columns.
///
/// a, b  as CheckedWeights gives them. start  see Solve.
Result<Transport> SolveRows(const Engine& engine, const CostRows& cost, std::span<const double> a,
                            std::span<const double> b, const SinkhornOptions& options,
                            std::span<const double> start);

/// The symmetric problem of a set with itself, by averaged fixed-point steps: a few suffice.
/// `start`: the potential of a similar problem, or empty.
Result<SelfTransport> SolveSelfRows(const Engine& engine, const CostRows& cost,
                                    std::span<const double> a, double epsilon,
                                    const SinkhornOptions& options,
                                    std::span<const double> start = {});

/// Visits the rows of a solution's plan with the logarithms of their weights. The visit may run on
/// several threads; see PlanPass.
using PlanVisit =
    FunctionRef<void(const PlanTile& tile, const double* log_weight, std::size_t chunk)>;
void VisitPlan(const Engine& engine, const CostRows& cost, std::span<const double> a,
               std::span<const double> b, const Transport& solution, PlanVisit visit);

}  // namespace lattice::transport
