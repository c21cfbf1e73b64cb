#include <algorithm>
#include <cmath>
#include <string>

#include "transport/engine.h"

namespace lattice::transport {
namespace {

/// The largest entries of one row, heaviest first.
std::vector<PlanEntry> Heaviest(const PlanTile& tile, std::size_t r, double log_weight,
                                double least_mass, std::size_t most) {
  std::vector<PlanEntry> entries;
  const double weight = std::exp(log_weight);
  const float* e = tile.e + r * tile.stride;
  for (std::size_t j = 0; j < tile.stride; ++j) {
    const double mass = weight * static_cast<double>(e[j]);
    if (mass >= least_mass && mass > 0) entries.push_back({tile.first + r, j, mass});
  }
  const auto heavier = [](const PlanEntry& x, const PlanEntry& y) {
    return x.mass != y.mass ? x.mass > y.mass : x.target < y.target;
  };
  const std::size_t n = std::min(most, entries.size());
  std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n),
                    entries.end(), heavier);
  entries.resize(n);
  return entries;
}

}  // namespace

Result<std::unique_ptr<OwnedEngine>> OwnedEngine::Make(const Machine& machine) {
  constexpr std::size_t kMostThreads = 1024;
  LATTICE_TRY(const Kernels kernels, FindKernels(machine.instruction_set));
  if (machine.n_threads > kMostThreads) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(machine.n_threads) +
                                                  " threads asked for, at most " +
                                                  std::to_string(kMostThreads)};
  }
  const std::size_t n = machine.n_threads == 0 ? ThreadPool::DefaultThreads() : machine.n_threads;
  return std::unique_ptr<OwnedEngine>(new OwnedEngine(kernels, n, machine));
}

Result<Transport> Solve(const Cost& cost, std::span<const double> a, std::span<const double> b,
                        const SinkhornOptions& options, const Machine& machine,
                        std::span<const double> start) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY(const CostRows rows, RowsOf(**engine, cost));
  const bool keep_sum = !std::isinf(options.source_rho) || !std::isinf(options.target_rho);
  LATTICE_TRY(const auto source, CheckedWeights("source", a, rows.n_rows(), keep_sum));
  LATTICE_TRY(const auto target, CheckedWeights("target", b, rows.n_columns(), keep_sum));
  LATTICE_TRY(Transport result, SolveRows(**engine, rows, source, target, options, start));
  result.kept_sums = keep_sum;
  return result;
}

Result<std::vector<PlanEntry>> ExtractPlan(const Cost& cost, std::span<const double> a,
                                           std::span<const double> b, const Transport& solution,
                                           double least_mass, std::size_t most_of_source,
                                           const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY(const CostRows rows, RowsOf(**engine, cost));
  const bool keep = solution.kept_sums;
  LATTICE_TRY(const auto source, CheckedWeights("source", a, rows.n_rows(), keep));
  LATTICE_TRY(const auto target, CheckedWeights("target", b, rows.n_columns(), keep));
  if (solution.source.size() != rows.n_rows() || solution.target.size() != rows.n_columns() ||
      !(solution.epsilon > 0)) {
    return Error{ErrorCode::kInvalidArgument, "the solution is of another problem"};
  }
  std::vector<std::vector<PlanEntry>> of_rows(rows.n_rows());
  VisitPlan(**engine, rows, source, target, solution,
            [&](const PlanTile& tile, const double* log_weight, std::size_t) {
              for (std::size_t r = 0; r < tile.n_rows; ++r) {
                of_rows[tile.first + r] =
                    Heaviest(tile, r, log_weight[r], least_mass, most_of_source);
              }
            });
  std::vector<PlanEntry> plan;
  for (const auto& entries : of_rows) plan.insert(plan.end(), entries.begin(), entries.end());
  return plan;
}

}  // namespace lattice::transport
