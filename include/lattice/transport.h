#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "lattice/result.h"

/// Optimal transport: how far two sets of points, or two weighted sets, are from each other, and
/// what goes where.
///
/// Errors of all functions  kInvalidArgument (sizes that do not match, a value that is not finite,
/// weights that are negative or sum to nothing), kUnsupported (a problem too large for an exact
/// method), kCancelled.
/// Same bits  for any number of threads and any instruction set.
namespace lattice::transport {

/// How a point differs from another.
enum class Ground : std::uint8_t {
  kSquaredEuclidean,  ///< |x - y|^2
  kCosine,            ///< 1 - x.y / (|x| |y|), in [0, 2]; 1 where a point is zero.
};

/// A set of points: row-major [size, dims], and weights, which are scaled to the sum 1; none: all
/// the same. Zeros are allowed. Borrows both.
struct Points {
  std::span<const float> values;
  std::size_t dims = 0;
  std::span<const double> weights = {};
  std::size_t size() const { return dims == 0 ? 0 : values.size() / dims; }
};

/// What it costs to move from each source to each target. Borrows what it is made from.
class Cost {
 public:
  /// Computed from the points piece by piece: memory grows with the points, not with their pairs.
  static Cost Between(const Points& source, const Points& target, Ground ground);
  /// [n_sources, n_targets], row-major.
  static Cost Matrix(std::span<const float> values, std::size_t n_sources, std::size_t n_targets);
  /// Called from several threads at once, more than once for a pair.
  static Cost Function(std::function<float(std::size_t source, std::size_t target)> cost,
                       std::size_t n_sources, std::size_t n_targets);

  enum class Kind : std::uint8_t { kPoints, kMatrix, kFunction };
  Kind kind() const { return kind_; }
  std::size_t n_sources() const { return n_sources_; }
  std::size_t n_targets() const { return n_targets_; }
  std::size_t dims() const { return dims_; }
  Ground ground() const { return ground_; }
  std::span<const float> source() const { return source_; }  ///< Or the matrix.
  std::span<const float> target() const { return target_; }
  const std::function<float(std::size_t, std::size_t)>& function() const { return function_; }

 private:
  Cost() = default;
  Kind kind_ = Kind::kPoints;
  Ground ground_ = Ground::kSquaredEuclidean;
  std::size_t n_sources_ = 0, n_targets_ = 0, dims_ = 0;
  std::span<const float> source_, target_;
  std::function<float(std::size_t, std::size_t)> function_;
};

/// Where and how the work is done.
struct Machine {
  std::size_t n_threads = 0;         ///< With the caller; 0 = the processors this process may use.
  std::string instruction_set = {};  ///< Pins the kernels ("avx2", ...); empty: the best here.
  /// Costs of pairs are kept when they fit, else computed again in each iteration.
  std::size_t matrix_budget_bytes = std::size_t{512} << 20;
  std::stop_token stop = {};  ///< Looked at in every iteration.
};

struct Progress {
  std::size_t iteration = 0;
  double epsilon = 0;         ///< Of the present stage.
  double marginal_error = 0;  ///< At the present epsilon.
};

/// Entropic transport. Mass arrives at the given weights (balanced) unless one of the relaxations
/// is asked for. Weights are scaled to the sum 1, but for unbalanced problems.
struct SinkhornOptions {
  /// Strength of the entropy, in the unit of the cost. 0: 5 % of the mean cost.
  double epsilon = 0;
  /// Stop when the plan misses the weights by this much: the sum of absolute differences. Relaxed
  /// problems: when the next step would change what arrives by this much.
  double tolerance = 1e-3;
  std::size_t max_iterations = 2000;
  /// Each stage's epsilon is this part of the stage before; the first is the largest cost. 1: the
  /// final epsilon from the start.
  double scaling = 0.25;
  /// Unbalanced: a price rho * KL(mass sent | weights) instead of a constraint; infinity: balanced.
  double source_rho = std::numeric_limits<double>::infinity();
  double target_rho = std::numeric_limits<double>::infinity();
  /// Partial: this share of the mass is sent, from and to each point at most its weight, where that
  /// costs least; in (0, 1], 1: balanced. Excludes rho. Source: Benamou et al. 2015, "Iterative
  /// Bregman projections for regularized transportation problems", section 5.
  double share = 1;
  std::function<void(const Progress&)> progress = {};  ///< From the calling thread.
};

/// Solution of an entropic problem. The plan is
///   plan[i][j] = a[i] b[j] e^((source[i] + target[j] - C[i][j]) / epsilon)
/// with the potentials in the unit of the cost.
struct Transport {
  std::vector<double> source, target;
  bool kept_sums = false;  ///< Whether a and b were taken as they are, not scaled to the sum 1.
  double epsilon = 0;      ///< That was used.
  double cost = 0;         ///< Sum of plan * C.
  double value = 0;        ///< cost + epsilon KL(plan | a b), with the prices of relaxed weights.
  double mass = 0;         ///< Of the plan.
  double marginal_error = 0;
  std::size_t iterations = 0;
  bool converged = false;  ///< marginal_error <= tolerance.
};

/// a and b: weights of sources and targets, as in Points. `start`: potentials of targets from a
/// similar problem, or empty: a few iterations then do.
Result<Transport> Solve(const Cost& cost, std::span<const double> a, std::span<const double> b,
                        const SinkhornOptions& options = {}, const Machine& machine = {},
                        std::span<const double> start = {});

struct PlanEntry {
  std::size_t source = 0, target = 0;
  double mass = 0;
  friend bool operator==(const PlanEntry&, const PlanEntry&) = default;
};

/// The entries of a solution's plan with at least `least_mass`, of each source its `most_of_source`
/// heaviest, by source and then by falling mass.
Result<std::vector<PlanEntry>> ExtractPlan(const Cost& cost, std::span<const double> a,
                                           std::span<const double> b, const Transport& solution,
                                           double least_mass, std::size_t most_of_source,
                                           const Machine& machine = {});

/// Transport of a set to itself, which the divergence takes off. Worth keeping for a set that many
/// others are compared with.
struct SelfTransport {
  double epsilon = 0;
  double value = 0;
  std::vector<double> potential;
  std::size_t iterations = 0;
  bool converged = false;
};
Result<SelfTransport> SolveSelf(const Points& points, Ground ground, const SinkhornOptions& options,
                                const Machine& machine = {});

/// Sinkhorn divergence: value(x, y) - value(x, x) / 2 - value(y, y) / 2. Zero for equal sets, else
/// positive; near the squared Wasserstein distance for small epsilon. Source: Feydy et al. 2019,
/// "Interpolating between Optimal Transport and MMD using Sinkhorn Divergences".
struct Divergence {
  double value = 0;
  Transport cross;
  SelfTransport source, target;
  bool converged() const { return cross.converged && source.converged && target.converged; }
};
/// Balanced problems only, as for all that follows. `source_self`: what SolveSelf gave for the
/// source at the same epsilon.
Result<Divergence> SinkhornDivergence(const Points& source, const Points& target, Ground ground,
                                      const SinkhornOptions& options = {},
                                      const Machine& machine = {},
                                      const SelfTransport* source_self = nullptr,
                                      std::span<const double> start = {});
/// d value / d x of the source points [n, dims], for kSquaredEuclidean.
Result<std::vector<float>> DivergenceGradient(const Points& source, const Points& target,
                                              const Divergence& divergence,
                                              const Machine& machine = {});

/// Exact transport, without entropy: shortest augmenting paths. kUnsupported when there are more
/// than 2^20 pairs.
struct ExactTransport {
  double cost = 0;
  std::vector<PlanEntry> plan;         ///< By source, then target.
  std::vector<double> source, target;  ///< Dual prices: source[i] + target[j] <= C[i][j].
};
Result<ExactTransport> SolveExact(const Cost& cost, std::span<const double> a,
                                  std::span<const double> b, const Machine& machine = {});

/// On a line, in closed form: sum of |x - y|^p over the optimal plan. p >= 1.
Result<double> LineTransport(std::span<const float> x, std::span<const float> y, double p = 2,
                             std::span<const double> a = {}, std::span<const double> b = {});
/// The squared 2-Wasserstein distance of the normal distributions with the sets' means and
/// covariances (Bures). O(dims^3): at most 2,048 dimensions.
Result<double> GaussianTransport(const Points& x, const Points& y, const Machine& machine = {});
/// The mean of LineTransport with p = 2 over random directions, and its standard error.
struct SlicedTransport {
  double value = 0;
  double standard_error = 0;
};
Result<SlicedTransport> SolveSliced(const Points& x, const Points& y, std::size_t n_directions,
                                    std::uint64_t seed, const Machine& machine = {});

/// Sets in spaces of different dimensions: how well their inner distances can be matched.
struct GromovTransport {
  double value = 0;  ///< Sum of plan * plan * (d_x - d_y)^2, inner distances scaled to mean 1.
  std::size_t iterations = 0;
  bool converged = false;
};
/// Entropic Gromov-Wasserstein between at most 2,048 points each. A local minimum: it depends on
/// the start, which is the product of the weights.
Result<GromovTransport> SolveGromov(const Points& x, const Points& y,
                                    const SinkhornOptions& options = {},
                                    const Machine& machine = {});

/// Weighted means of distributions in the sense of transport.
struct Barycentre {
  std::vector<float> points;    ///< [size, dims]; empty with a fixed support.
  std::vector<double> weights;  ///< [size]
  std::size_t iterations = 0;
  bool converged = false;
};
/// Weights on the given support, which all costs lead to: costs[k] is [sources of k, support].
Result<Barycentre> FixedSupportBarycentre(std::span<const Cost> costs,
                                          std::span<const std::vector<double>> weights,
                                          std::span<const double> shares,
                                          const SinkhornOptions& options,
                                          const Machine& machine = {});
/// Places for `size` points of equal weight, squared Euclidean, from `start` [size, dims].
Result<Barycentre> FreeSupportBarycentre(std::span<const Points> sets,
                                         std::span<const double> shares,
                                         std::span<const float> start, std::size_t n_rounds,
                                         const SinkhornOptions& options = {},
                                         const Machine& machine = {});

}  // namespace lattice::transport
