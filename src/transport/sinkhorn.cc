#include "transport/sinkhorn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>

#include "transport/relaxation.h"

namespace lattice::transport {
namespace {

constexpr std::size_t kMostTileRows = 64;
constexpr std::size_t kIterationsOfStage = 12;
constexpr double kErrorOfStage = 0.1;
constexpr std::size_t kWindow = 4;
// Errors below this shrink at one rate.
constexpr double kLinear = 0.2;

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

// Chooses how far to step beyond the exact update of a problem whose mass is given: successive
// over-relaxation, with the rate that Young's relation infers from the errors seen so far.
class Overshoot {
 public:
  double factor() const { return factor_; }
  void Observe(double error) {
    if (error > kLinear) {
      n_ = 0;
      factor_ = 1;
      return;
    }
    errors_[n_++] = error;
    if (n_ < kWindow) return;
    n_ = 0;
    const double rate = std::pow(errors_[kWindow - 1] / errors_[0], 1.0 / (kWindow - 1));
    if (!(rate < 1)) {  // Too far: errors grow.
      factor_ = 1 + (factor_ - 1) / 2;
      return;
    }
    if (rate <= factor_ - 1) return;
    const double base = (rate + factor_ - 1) / factor_;
    const double squared = std::min(base * base / rate, 0.9999);
    factor_ = std::min(1.95, 2 / (1 + std::sqrt(1 - squared)));
  }

 private:
  double factor_ = 1;
  std::array<double, kWindow> errors_{};
  std::size_t n_ = 0;
};

// The state of one problem and the steps on it.
class Solver {
 public:
  Solver(const Engine& engine, const CostRows& cost, std::span<const double> a,
         std::span<const double> b, const SinkhornOptions& options)
      : engine_(engine),
        cost_(cost),
        a_(a),
        b_(b),
        log_a_(Logarithms(a)),
        log_b_(Logarithms(b)),
        options_(options),
        pass_(cost, log_b_, engine.kernels, engine.pool),
        source_{options.source_rho},
        target_{options.target_rho},
        f_(cost.n_rows()),
        g_(cost.n_columns()),
        next_(cost.n_columns()),
        exact_(cost.n_columns()),
        columns_(cost.n_columns()),
        of_chunks_(pass_.n_chunks() * cost.n_columns()),
        row_errors_(pass_.n_chunks()) {
    if (is_partial()) {
      source_.most = 0;
      target_.most = 0;
      exact_rows_.resize(cost.n_rows());
    }
  }

  void Start(std::span<const double> g) {
    std::ranges::copy(g, g_.begin());
    if (is_partial()) target_.most = std::ranges::max(g_);
  }
  bool is_partial() const { return options_.share < 1; }
  bool has_given_mass() const {
    return std::isinf(options_.source_rho) && std::isinf(options_.target_rho);
  }

  // One iteration: new f, and the g that follows from it in next_. Gives the marginal error of
  // the plan of f and g_.
  double Iterate(double epsilon, double overshoot) {
    const std::size_t m = cost_.n_columns();
    if (is_partial()) Translate(epsilon);
    std::ranges::fill(of_chunks_, 0.0);
    std::ranges::fill(row_errors_, 0.0);
    pass_.Run(epsilon, g_, false, [&](const PlanTile& tile, std::size_t chunk) {
      AddTile(tile, epsilon, overshoot, chunk);
    });
    SumChunks();
    lost_.clear();
    for (std::size_t j = 0; j < m; ++j) {
      if (b_[j] == 0) continue;
      if (columns_[j] < kLeastPart * b_[j]) {
        lost_.push_back(j);
      } else {
        exact_[j] = g_[j] - epsilon * std::log(columns_[j] / b_[j]);
      }
    }
    engine_.pool.ParallelEach(
        lost_.size(), [&](std::size_t i) { exact_[lost_[i]] = ExactOfColumn(lost_[i], epsilon); });
    next_target_ = target_;
    if (is_partial()) next_target_.most = PartialBound(exact_, b_, options_.share, epsilon);
    double error = 0;
    for (std::size_t j = 0; j < m; ++j) {
      if (b_[j] > 0) error += SetNext(j, epsilon, overshoot);
    }
    for (const double row_error : row_errors_) error += row_error;
    return error;
  }
  void Advance() {
    std::swap(g_, next_);
    target_ = next_target_;
  }

  Transport Finish(double epsilon);

 private:
  void AddTile(const PlanTile& tile, double epsilon, double overshoot, std::size_t chunk) {
    std::array<double, kMostTileRows> log_weight;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      const std::size_t i = tile.first + r;
      const double exact = tile.exact[r];
      const double step = source_(exact, epsilon);
      f_[i] = source_.Beyond(f_[i], step, overshoot);
      const double surplus = (f_[i] - exact) / epsilon;
      if (overshoot != 1) {
        const double wanted = std::exp((step - exact) / epsilon);
        row_errors_[chunk] += a_[i] * std::fabs(std::exp(surplus) - wanted);
      }
      log_weight[r] = log_a_[i] + surplus - std::log(tile.sum[r]);
      most = std::max(most, log_weight[r]);
    }
    if (std::isinf(most)) return;  // Rows without weight.
    constexpr std::size_t kRowsAtOnce = 16;
    std::array<float, kMostTileRows> weight;
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      weight[r] = static_cast<float>(std::exp(log_weight[r] - most));
    }
    const std::size_t m = cost_.n_columns();
    for (std::size_t r = 0; r < tile.n_rows; r += kRowsAtOnce) {
      engine_.kernels.rows->add_weighted(tile.e + r * tile.stride, tile.stride, &weight[r],
                                         std::min(kRowsAtOnce, tile.n_rows - r), std::exp(most), m,
                                         of_chunks_.data() + chunk * m);
    }
  }

  // Partial: moves g and its bound, and with them f the other way, to where the share is sent.
  // Without this step the bound of f holds the two together, more tightly the nearer the share is
  // to 1. Source: Sejourne et al. 2022, "Faster Unbalanced Optimal Transport: Translation invariant
  // Sinkhorn", for another relaxation.
  void Translate(double epsilon) {
    pass_.Run(epsilon, g_, false, [&](const PlanTile& tile, std::size_t) {
      std::copy_n(tile.exact, tile.n_rows,
                  exact_rows_.begin() + static_cast<std::ptrdiff_t>(tile.first));
    });
    const double step = PartialBound(exact_rows_, a_, options_.share, epsilon);
    for (double& g : g_) g += step;
    target_.most += step;
  }

  void SumChunks() {
    const std::size_t m = cost_.n_columns();
    engine_.pool.ParallelFor(m, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) columns_[j] = 0;
      for (std::size_t c = 0; c < pass_.n_chunks(); ++c) {
        const double* part = of_chunks_.data() + c * m;
        for (std::size_t j = begin; j < end; ++j) columns_[j] += part[j];
      }
    });
  }

  // Gives what the column contributes to the error: how much more or less will arrive.
  double SetNext(std::size_t j, double epsilon, double overshoot) {
    const double step = next_target_(exact_[j], epsilon);
    const bool is_lost = columns_[j] < kLeastPart * b_[j];
    next_[j] = is_lost ? step : next_target_.Beyond(g_[j], step, overshoot);
    return std::fabs(b_[j] * std::exp((step - exact_[j]) / epsilon) - columns_[j]);
  }

  double ExactOfColumn(std::size_t j, double epsilon) const {
    return cost_.column_part()[j] - epsilon * LogSumOfColumn(cost_, log_a_, f_, epsilon, j);
  }

  const Engine& engine_;
  const CostRows& cost_;
  std::span<const double> a_, b_;
  std::vector<double> log_a_, log_b_;
  const SinkhornOptions& options_;
  PlanPass pass_;
  Relaxation source_, target_, next_target_;
  std::vector<double> f_, g_, next_;
  std::vector<double> exact_;       // potentials with which columns receive their weights
  std::vector<double> exact_rows_;  // and rows send theirs: partial problems only
  std::vector<double> columns_;     // the mass that arrives
  std::vector<double> of_chunks_, row_errors_;
  std::vector<std::size_t> lost_;
};

// Rows once more, with what the cost needs: C[i][j] = row_part[i] + q[j] - epsilon z[i][j] with
// q[j] = column_part[j] + epsilon h[j].
Transport Solver::Finish(double epsilon) {
  std::vector<double> costs(pass_.n_chunks());
  std::vector<float> h(cost_.n_columns());
  std::ranges::fill(of_chunks_, 0.0);
  std::vector<double> f = f_;  // The last iteration's, from the same g.
  pass_.Run(epsilon, g_, true, [&](const PlanTile& tile, std::size_t chunk) {
    if (tile.first == 0) std::ranges::copy(tile.column_term, h.begin());
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      const std::size_t i = tile.first + r;
      const double weight =
          std::exp(log_a_[i] + (f[i] - tile.exact[r]) / epsilon - std::log(tile.sum[r]));
      costs[chunk] += weight * (cost_.row_part()[i] * tile.sum[r] -
                                epsilon * (tile.moment[r] + tile.max[r] * tile.sum[r]));
      const auto narrow = static_cast<float>(weight);
      engine_.kernels.rows->add_weighted(tile.e + r * tile.stride, tile.stride, &narrow, 1, 1.0,
                                         tile.stride, of_chunks_.data() + chunk * tile.stride);
    }
  });
  SumChunks();
  Transport result;
  double total_a = 0, total_b = 0;
  for (const double part : costs) result.cost += part;
  for (std::size_t j = 0; j < b_.size(); ++j) {
    result.mass += columns_[j];
    total_b += b_[j];
    if (b_[j] == 0) {
      g_[j] = target_(ExactOfColumn(j, epsilon), epsilon);
      continue;
    }
    result.cost += columns_[j] * (cost_.column_part()[j] + epsilon * static_cast<double>(h[j]));
    result.value += b_[j] * target_.Dual(g_[j]);
  }
  for (std::size_t i = 0; i < a_.size(); ++i) {
    total_a += a_[i];
    if (a_[i] > 0) result.value += a_[i] * source_.Dual(f[i]);
  }
  result.value += epsilon * (total_a * total_b - result.mass);
  // The bound is the price of the mass, and part of g.
  if (is_partial()) result.value -= target_.most * (1 - options_.share);
  result.source = std::move(f);
  result.target = g_;
  result.epsilon = epsilon;
  return result;
}

std::vector<double> Stages(double epsilon, double most, double scaling) {
  std::vector<double> stages;
  if (scaling < 1) {
    for (double e = most; e > epsilon && stages.size() < 100; e *= scaling) stages.push_back(e);
  }
  stages.push_back(epsilon);
  return stages;
}

bool IsFinite(std::span<const double> x) {
  return std::ranges::all_of(x, [](double v) { return std::isfinite(v); });
}

}  // namespace

std::vector<double> Logarithms(std::span<const double> x) {
  std::vector<double> out;
  out.reserve(x.size());
  for (const double v : x) out.push_back(std::log(v));
  return out;
}

Result<std::vector<double>> CheckedWeights(std::string_view what, std::span<const double> weights,
                                           std::size_t n, bool keep_sum) {
  if (weights.empty()) return std::vector<double>(n, 1.0 / static_cast<double>(n));
  if (weights.size() != n) {
    return Invalid(std::to_string(weights.size()) + " weights for " + std::to_string(n) + " " +
                   std::string(what) + " points");
  }
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(weights[i] >= 0) || std::isinf(weights[i])) {
      return Invalid(std::string(what) + " weight " + std::to_string(i) +
                     " is negative or not finite");
    }
    sum += weights[i];
  }
  if (!(sum > 0) || std::isinf(sum)) {
    return Invalid(std::string(what) + " weights have no finite positive sum");
  }
  std::vector<double> out(weights.begin(), weights.end());
  if (!keep_sum) {
    for (double& w : out) w /= sum;
  }
  return out;
}

Result<double> CheckedEpsilon(const SinkhornOptions& options, const CostRows& cost) {
  const bool are_fine = options.epsilon >= 0 && std::isfinite(options.epsilon) &&
                        options.tolerance > 0 && options.scaling > 0 && options.scaling <= 1 &&
                        options.source_rho > 0 && options.target_rho > 0 && options.share > 0 &&
                        options.share <= 1 && options.max_iterations > 0;
  if (!are_fine) {
    return Invalid(
        "options out of range: epsilon >= 0, tolerance > 0, 0 < scaling <= 1, rho > 0, "
        "0 < share <= 1, max_iterations > 0");
  }
  if (options.share < 1 && !(std::isinf(options.source_rho) && std::isinf(options.target_rho))) {
    return Invalid("a share of the mass and prices rho exclude each other");
  }
  if (options.epsilon > 0) return options.epsilon;
  const double mean = cost.EstimateScale().mean;
  if (!std::isfinite(mean)) return Invalid("costs that are not finite");
  return mean > 0 ? 0.05 * mean : 1.0;
}

Status CheckBalanced(const SinkhornOptions& options, std::string_view what) {
  if (std::isinf(options.source_rho) && std::isinf(options.target_rho) && options.share == 1) {
    return Ok();
  }
  return Invalid(std::string(what) + " needs a balanced problem: no rho, no share");
}

Result<Transport> SolveRows(const Engine& engine, const CostRows& cost, std::span<const double> a,
                            std::span<const double> b, const SinkhornOptions& options,
                            std::span<const double> start) {
  LATTICE_TRY(const double epsilon, CheckedEpsilon(options, cost));
  if (!start.empty() && (start.size() != cost.n_columns() || !IsFinite(start))) {
    return Invalid("potentials to start from: " + std::to_string(start.size()) + " for " +
                   std::to_string(cost.n_columns()) + " targets, or not finite");
  }
  Solver solver(engine, cost, a, b, options);
  if (!start.empty()) solver.Start(start);
  const std::vector<double> stages =
      Stages(epsilon, cost.EstimateScale().most, start.empty() ? options.scaling : 1.0);
  std::size_t done = 0;
  double error = std::numeric_limits<double>::infinity();
  bool converged = false;
  for (std::size_t s = 0; s < stages.size() && done < options.max_iterations; ++s) {
    const bool is_last = s + 1 == stages.size();
    Overshoot overshoot;
    for (std::size_t k = 0; is_last || k < kIterationsOfStage; ++k) {
      if (engine.stop.stop_requested()) return Error{ErrorCode::kCancelled, "transport cancelled"};
      error = solver.Iterate(stages[s], overshoot.factor());
      ++done;
      if (!std::isfinite(error)) return Invalid("costs that are not finite, or too large");
      if (options.progress) options.progress({done, stages[s], error});
      converged = is_last && error <= options.tolerance;
      if (converged || done >= options.max_iterations) break;
      solver.Advance();
      if (!is_last && error <= kErrorOfStage) break;
      if (is_last && solver.has_given_mass()) overshoot.Observe(error);
    }
  }
  Transport result = solver.Finish(stages.back());
  result.marginal_error = error;
  result.iterations = done;
  result.converged = converged;
  return result;
}

Result<SelfTransport> SolveSelfRows(const Engine& engine, const CostRows& cost,
                                    std::span<const double> a, double epsilon,
                                    const SinkhornOptions& options, std::span<const double> start) {
  const std::vector<double> log_a = Logarithms(a);
  PlanPass pass(cost, log_a, engine.kernels, engine.pool);
  SelfTransport result;
  result.epsilon = epsilon;
  std::vector<double> f(cost.n_rows()), exact(cost.n_rows());
  if (start.size() == f.size()) std::ranges::copy(start, f.begin());
  const auto stages =
      Stages(epsilon, cost.EstimateScale().most, start.empty() ? options.scaling : 1.0);
  for (std::size_t s = 0; s < stages.size() && !result.converged; ++s) {
    const bool is_last = s + 1 == stages.size();
    while (result.iterations < options.max_iterations) {
      if (engine.stop.stop_requested()) return Error{ErrorCode::kCancelled, "transport cancelled"};
      pass.Run(stages[s], f, false, [&](const PlanTile& tile, std::size_t) {
        std::copy_n(tile.exact, tile.n_rows,
                    exact.begin() + static_cast<std::ptrdiff_t>(tile.first));
      });
      ++result.iterations;
      double error = 0, mass = 0, sum = 0;
      for (std::size_t i = 0; i < f.size(); ++i) {
        const double surplus = (f[i] - exact[i]) / stages[s];
        if (a[i] > 0) {
          error += a[i] * std::fabs(std::expm1(surplus));
          mass += a[i] * std::exp(surplus);
          sum += a[i] * f[i];
        }
      }
      if (!std::isfinite(error)) return Invalid("costs that are not finite, or too large");
      result.value = 2 * sum + stages[s] * (1 - mass);
      result.converged = is_last && error <= options.tolerance;
      if (result.converged) break;
      for (std::size_t i = 0; i < f.size(); ++i) f[i] = (f[i] + exact[i]) / 2;
      if (!is_last && error <= kErrorOfStage) break;
    }
  }
  result.potential = std::move(f);
  return result;
}

void VisitPlan(const Engine& engine, const CostRows& cost, std::span<const double> a,
               std::span<const double> b, const Transport& solution, PlanVisit visit) {
  const std::vector<double> log_a = Logarithms(a), log_b = Logarithms(b);
  PlanPass pass(cost, log_b, engine.kernels, engine.pool);
  pass.Run(solution.epsilon, solution.target, false, [&](const PlanTile& tile, std::size_t chunk) {
    std::array<double, kMostTileRows> log_weight;
    for (std::size_t r = 0; r < tile.n_rows; ++r) {
      const std::size_t i = tile.first + r;
      log_weight[r] = log_a[i] + (solution.source[i] - tile.exact[r]) / solution.epsilon -
                      std::log(tile.sum[r]);
    }
    visit(tile, log_weight.data(), chunk);
  });
}

}  // namespace lattice::transport
