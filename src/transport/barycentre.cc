#include <algorithm>
#include <cmath>
#include <string>

#include "transport/engine.h"
#include "transport/mean_targets.h"

namespace lattice::transport {
namespace {

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

// One of the sets whose mean is sought, with a reference measure of 1 on each support point.
class Side {
 public:
  Side(const Engine& engine, const CostRows& cost, std::span<const double> a)
      : engine_(engine),
        cost_(cost),
        log_a_(Logarithms(a)),
        zeros_(cost.n_columns()),
        pass_(cost, zeros_, engine.kernels, engine.pool),
        f_(cost.n_rows()),
        g_(cost.n_columns()),
        received_(cost.n_columns()) {}

  // Sends the weights along g; what arrives at each support point, divided by e^(g / epsilon), is
  // what it would receive for g = 0: its logarithm.
  std::span<const double> Send(double epsilon) {
    const std::size_t m = cost_.n_columns();
    std::vector<double> parts(pass_.n_chunks() * m);
    pass_.Run(epsilon, g_, false, [&](const PlanTile& tile, std::size_t chunk) {
      for (std::size_t r = 0; r < tile.n_rows; ++r) {
        f_[tile.first + r] = tile.exact[r];
        const auto weight = static_cast<float>(std::exp(log_a_[tile.first + r]) / tile.sum[r]);
        engine_.kernels.rows->add_weighted(tile.e + r * tile.stride, tile.stride, &weight, 1, 1.0,
                                           m, parts.data() + chunk * m);
      }
    });
    for (std::size_t j = 0; j < m; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < pass_.n_chunks(); ++c) sum += parts[c * m + j];
      received_[j] = sum < kLeastPart ? LogSumOfColumn(cost_, log_a_, f_, epsilon, j) -
                                            cost_.column_part()[j] / epsilon
                                      : std::log(sum) - g_[j] / epsilon;
    }
    return received_;
  }

  // Moves g so that the support points receive e^log_b. Gives how far off they were.
  double Take(std::span<const double> log_b, double epsilon) {
    double error = 0;
    for (std::size_t j = 0; j < g_.size(); ++j) {
      const double now = std::exp(received_[j] + g_[j] / epsilon);
      error += std::fabs(now - std::exp(log_b[j]));
      g_[j] = epsilon * (log_b[j] - received_[j]);
    }
    return error;
  }

 private:
  const Engine& engine_;
  const CostRows& cost_;
  std::vector<double> log_a_, zeros_;
  PlanPass pass_;
  std::vector<double> f_, g_, received_;
};

Result<std::vector<double>> CheckedShares(std::span<const double> shares, std::size_t n) {
  if (n == 0) return Invalid("a mean of no sets");
  return CheckedWeights("share", shares, n);
}

}  // namespace

Result<Barycentre> FixedSupportBarycentre(std::span<const Cost> costs,
                                          std::span<const std::vector<double>> weights,
                                          std::span<const double> given_shares,
                                          const SinkhornOptions& options, const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY_VOID(CheckBalanced(options, "a barycentre"));
  LATTICE_TRY(const auto shares, CheckedShares(given_shares, costs.size()));
  if (weights.size() != costs.size()) return Invalid("one vector of weights for each cost");
  std::vector<CostRows> rows;
  std::vector<Side> sides;
  rows.reserve(costs.size());  // Sides refer to them.
  sides.reserve(costs.size());
  double epsilon = 0;
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (costs[k].n_targets() != costs[0].n_targets()) return Invalid("supports of other sizes");
    LATTICE_TRY(CostRows of_set, RowsOf(**engine, costs[k]));
    rows.push_back(std::move(of_set));
    LATTICE_TRY(const auto a, CheckedWeights("source", weights[k], rows[k].n_rows()));
    LATTICE_TRY(const double own, CheckedEpsilon(options, rows[k]));
    epsilon = std::max(epsilon, own);
    sides.emplace_back(**engine, rows[k], a);
  }
  Barycentre result;
  std::vector<double> log_b(rows[0].n_columns());
  while (result.iterations < options.max_iterations && !result.converged) {
    if (machine.stop.stop_requested()) return Error{ErrorCode::kCancelled, "mean cancelled"};
    std::ranges::fill(log_b, 0.0);
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const auto received = sides[k].Send(epsilon);
      for (std::size_t j = 0; j < log_b.size(); ++j) log_b[j] += shares[k] * received[j];
    }
    double error = 0;
    for (std::size_t k = 0; k < sides.size(); ++k) {
      error += shares[k] * sides[k].Take(log_b, epsilon);
    }
    ++result.iterations;
    if (!std::isfinite(error)) return Invalid("costs that are not finite, or too large");
    result.converged = error <= options.tolerance;
  }
  double sum = 0;
  for (const double v : log_b) sum += std::exp(v);
  for (const double v : log_b) result.weights.push_back(std::exp(v) / sum);
  return result;
}

Result<Barycentre> FreeSupportBarycentre(std::span<const Points> sets,
                                         std::span<const double> given_shares,
                                         std::span<const float> start, std::size_t n_rounds,
                                         const SinkhornOptions& options, const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY_VOID(CheckBalanced(options, "a barycentre"));
  LATTICE_TRY(const auto shares, CheckedShares(given_shares, sets.size()));
  const std::size_t dims = sets[0].dims;
  if (dims == 0 || start.empty() || start.size() % dims != 0) {
    return Invalid("no points to start from, or not whole rows");
  }
  const std::size_t n = start.size() / dims;
  Barycentre result;
  result.points.assign(start.begin(), start.end());
  result.weights.assign(n, 1.0 / static_cast<double>(n));
  std::vector<float> means(start.size());
  while (result.iterations < n_rounds && !result.converged) {
    std::vector<double> next(start.size());
    double spread = 0;
    for (std::size_t k = 0; k < sets.size(); ++k) {
      const Points now{result.points, dims};
      LATTICE_TRY(const CostRows rows,
                  RowsOf(**engine, Cost::Between(now, sets[k], Ground::kSquaredEuclidean)));
      LATTICE_TRY(const auto b, CheckedWeights("target", sets[k].weights, sets[k].size()));
      LATTICE_TRY(const Transport plan, SolveRows(**engine, rows, result.weights, b, options, {}));
      MeanTargets(**engine, rows, result.weights, b, plan, means);
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] += shares[k] * (static_cast<double>(means[i]) + rows.target_centre()[i % dims]);
      }
      spread += shares[k] * plan.cost;
    }
    double moved = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const double step = next[i] - static_cast<double>(result.points[i]);
      moved += step * step / static_cast<double>(n);
      result.points[i] = static_cast<float>(next[i]);
    }
    ++result.iterations;
    // In the mean a point moved by less than a thousandth of the way to the sets.
    result.converged = moved <= 1e-6 * spread;
  }
  return result;
}

}  // namespace lattice::transport
