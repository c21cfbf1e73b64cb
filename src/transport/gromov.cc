#include <algorithm>
#include <cmath>
#include <string>

#include "transport/engine.h"

namespace lattice::transport {
namespace {

constexpr std::size_t kMostPoints = 2048;
constexpr std::size_t kMostRounds = 50;

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

// Distances inside a set [n, n], scaled to the mean 1.
Result<std::vector<float>> InnerDistances(const Engine& engine, const Points& points) {
  const std::size_t n = points.size();
  if (n > kMostPoints) {
    return Error{ErrorCode::kUnsupported, "Gromov-Wasserstein of " + std::to_string(n) +
                                              " points, at most " + std::to_string(kMostPoints)};
  }
  LATTICE_TRY(const CostRows rows,
              RowsOf(engine, Cost::Between(points, points, Ground::kSquaredEuclidean)));
  std::vector<float> distances(n * n), scratch(n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float* s = rows.Rows(i, 1, scratch.data());
    for (std::size_t j = 0; j < n; ++j) {
      const double squared = i == j ? 0.0 : rows.CostOf(i, j, static_cast<double>(s[j]));
      const double distance = std::sqrt(std::max(0.0, squared));
      distances[i * n + j] = static_cast<float>(distance);
      sum += distance;
    }
  }
  const double mean = sum / static_cast<double>(n * n);
  if (mean > 0) {
    for (float& d : distances) d = static_cast<float>(static_cast<double>(d) / mean);
  }
  return distances;
}

// c = a b, [n, k] [k, m].
void Multiply(const Engine& engine, std::span<const float> a, std::span<const float> b,
              std::size_t n, std::size_t k, std::size_t m, std::span<float> c) {
  engine.pool.ParallelFor(n, 12, [&](std::size_t begin, std::size_t end) {
    engine.kernels.product({.a = a.data() + begin * k,
                            .a_row_stride = k,
                            .a_col_stride = 1,
                            .b = b.data(),
                            .b_stride = m,
                            .c = c.data() + begin * m,
                            .c_stride = m,
                            .m = end - begin,
                            .n = m,
                            .k = k});
  });
}

// For each point, the mean over the weights of its squared distances.
std::vector<double> MeanSquares(std::span<const float> d, std::span<const double> weights) {
  const std::size_t n = weights.size();
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n * n; ++i) {
    out[i / n] += weights[i % n] * static_cast<double>(d[i]) * static_cast<double>(d[i]);
  }
  return out;
}

}  // namespace

// The square loss splits: cost(plan) = x2 + y2 - 2 Dx plan Dy, and each round is a transport with
// the cost of the plan before. Source: Peyre et al. 2016, "Gromov-Wasserstein averaging of kernel
// and distance matrices".
Result<GromovTransport> SolveGromov(const Points& x, const Points& y, const SinkhornOptions& given,
                                    const Machine& machine) {
  LATTICE_TRY(const auto owned, OwnedEngine::Make(machine));
  const Engine& engine = **owned;
  LATTICE_TRY_VOID(CheckBalanced(given, "Gromov-Wasserstein"));
  if (x.size() == 0 || y.size() == 0) return Invalid("a set without points");
  LATTICE_TRY(const auto a, CheckedWeights("source", x.weights, x.size()));
  LATTICE_TRY(const auto b, CheckedWeights("target", y.weights, y.size()));
  LATTICE_TRY(const auto dx, InnerDistances(engine, x));
  LATTICE_TRY(const auto dy, InnerDistances(engine, y));
  const std::size_t n = a.size(), m = b.size();
  const auto x2 = MeanSquares(dx, a), y2 = MeanSquares(dy, b);
  std::vector<float> plan(n * m), next(n * m), half(n * m), cost(n * m);
  for (std::size_t i = 0; i < n * m; ++i) plan[i] = static_cast<float>(a[i / m] * b[i % m]);
  const auto set_cost = [&] {
    Multiply(engine, dx, plan, n, n, m, half);
    Multiply(engine, half, dy, n, m, m, cost);
    for (std::size_t i = 0; i < n * m; ++i) {
      cost[i] = static_cast<float>(x2[i / m] + y2[i % m] - 2 * static_cast<double>(cost[i]));
    }
  };
  SinkhornOptions options = given;
  if (options.epsilon == 0) options.epsilon = 5e-3;  // Distances have the mean 1.
  GromovTransport result;
  std::vector<double> start;
  while (result.iterations < kMostRounds && !result.converged) {
    set_cost();
    LATTICE_TRY(const CostRows rows, RowsOf(engine, Cost::Matrix(cost, n, m)));
    LATTICE_TRY(const Transport solution, SolveRows(engine, rows, a, b, options, start));
    start = solution.target;
    VisitPlan(engine, rows, a, b, solution,
              [&](const PlanTile& tile, const double* log_weight, std::size_t) {
                for (std::size_t r = 0; r < tile.n_rows; ++r) {
                  const auto weight = static_cast<float>(std::exp(log_weight[r]));
                  float* const to = next.data() + (tile.first + r) * m;
                  for (std::size_t j = 0; j < m; ++j) to[j] = weight * tile.e[r * m + j];
                }
              });
    double change = 0;
    for (std::size_t i = 0; i < n * m; ++i) {
      change += std::fabs(static_cast<double>(next[i]) - static_cast<double>(plan[i]));
    }
    std::swap(plan, next);
    ++result.iterations;
    result.converged = change <= 10 * options.tolerance;
  }
  set_cost();
  for (std::size_t i = 0; i < n * m; ++i) {
    result.value += static_cast<double>(plan[i]) * static_cast<double>(cost[i]);
  }
  result.value = std::max(0.0, result.value);
  return result;
}

}  // namespace lattice::transport
