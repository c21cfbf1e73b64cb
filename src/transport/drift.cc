#include "lattice/drift.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "transport/displacement.h"
#include "transport/engine.h"
#include "transport/records.h"

namespace lattice::transport {
namespace {

// Streams of random numbers.
enum : std::uint64_t { kSources, kTargets, kTestSources, kTestTargets, kResamples, kDeals };

double Median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::ranges::nth_element(x, middle);
  return *middle;
}

// A record is an outlier where its modified z-score is above 3.5. Source: Iglewicz and Hoaglin
// 1993, "How to detect and handle outliers". Costs that are nearly equal have none.
std::vector<Displacement> Displacements(std::span<const double> costs,
                                        std::span<const std::size_t> indices) {
  constexpr double kMost = 3.5, kNormal = 1.4826, kLeastSpread = 1e-6;
  const double median = Median({costs.begin(), costs.end()});
  std::vector<double> deviations;
  for (const double cost : costs) deviations.push_back(std::fabs(cost - median));
  const double spread =
      std::max(kNormal * Median(std::move(deviations)), kLeastSpread * std::fabs(median));
  std::vector<Displacement> out;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    out.push_back({indices[i], costs[i], costs[i] - median > kMost * spread});
  }
  return out;
}

// By how much the divergence grows with the weight of each record, less the mean.
std::vector<double> Influences(std::span<const double> cross, std::span<const double> self) {
  std::vector<double> out(cross.size());
  double mean = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = cross[i] - self[i];
    mean += out[i] / static_cast<double>(out.size());
  }
  for (double& v : out) v -= mean;
  return out;
}

// Of the mean of n of them.
double VarianceOfMean(std::span<const double> influences) {
  double sum = 0;
  for (const double v : influences) sum += v * v;
  const auto n = static_cast<double>(influences.size());
  return n > 1 ? sum / (n * (n - 1)) : 0;
}

double ResampledMean(std::span<const double> influences, Random& random) {
  double sum = 0;
  for (std::size_t i = 0; i < influences.size(); ++i) {
    sum += influences[random.Below(influences.size())];
  }
  return sum / static_cast<double>(influences.size());
}

class Comparison {
 public:
  Comparison(const Engine& engine, const Points& source, const Points& target,
             const DriftOptions& options)
      : engine_(engine),
        source_(source),
        target_(target),
        options_(options),
        sinkhorn_(options.sinkhorn),
        of_source_(Choose(source.size(), options.max_records, Random(options.seed, kSources))),
        of_target_(Choose(target.size(), options.max_records, Random(options.seed, kTargets))) {}

  Result<DriftReport> Run() {
    report_.n_source = source_.size();
    report_.n_target = target_.size();
    report_.n_source_used = of_source_.size();
    report_.n_target_used = of_target_.size();
    LATTICE_TRY_VOID(Measure());
    LATTICE_TRY_VOID(Test());
    Done(1);
    return std::move(report_);
  }

 private:
  void Done(double part) const {
    if (options_.progress) options_.progress(part);
  }

  Status Measure() {
    const std::vector<float> x = Gather(source_.values, source_.dims, of_source_);
    const std::vector<float> y = Gather(target_.values, target_.dims, of_target_);
    const Points a{x, source_.dims}, b{y, source_.dims};
    LATTICE_TRY(const Divergence found,
                DivergenceOn(engine_, a, b, options_.ground, sinkhorn_, nullptr, {}));
    Done(0.4);
    report_.divergence = found.value;
    report_.distance = found.cross.cost;
    report_.converged = found.converged();
    report_.marginal_error = found.cross.marginal_error;
    report_.epsilon = sinkhorn_.epsilon = found.cross.epsilon;
    AddErrors(found);
    LATTICE_TRY_VOID(AddBias(a, b));
    return AddRecords(a, b, found.cross);
  }

  void AddErrors(const Divergence& found) {
    const auto of_source = Influences(found.cross.source, found.source.potential);
    const auto of_target = Influences(found.cross.target, found.target.potential);
    const double source = VarianceOfMean(of_source), target = VarianceOfMean(of_target);
    report_.standard_error = std::sqrt(source + target);
    const auto left_out = [](std::size_t used, std::size_t all) {
      return 1 - static_cast<double>(used) / static_cast<double>(all);
    };
    report_.sampling_error = std::sqrt(source * left_out(of_source_.size(), source_.size()) +
                                       target * left_out(of_target_.size(), target_.size()));
    std::vector<double> changes(options_.n_resamples);
    Random random(options_.seed, kResamples);
    for (double& change : changes) {
      change = ResampledMean(of_source, random) + ResampledMean(of_target, random);
    }
    std::ranges::sort(changes);
    const auto at = [&](double part) {
      return changes[static_cast<std::size_t>(part * static_cast<double>(changes.size() - 1))];
    };
    const double outside = (1 - options_.confidence) / 2;
    report_.low = std::max(0.0, found.value + at(outside));
    report_.high = std::max(0.0, found.value + at(1 - outside));
  }

  // The bias of n records is near c / n: halves of the samples have twice that.
  Status AddBias(const Points& a, const Points& b) {
    const double used = (static_cast<double>(a.size()) / static_cast<double>(source_.size()) +
                         static_cast<double>(b.size()) / static_cast<double>(target_.size())) /
                        2;
    if (used == 1 || a.size() < 2 || b.size() < 2) return Ok();
    double of_halves = 0;
    for (const std::size_t half : {0, 1}) {
      const std::vector<float> x = Half(a, half), y = Half(b, half);
      LATTICE_TRY(const Divergence found, DivergenceOn(engine_, {x, a.dims}, {y, b.dims},
                                                       options_.ground, sinkhorn_, nullptr, {}));
      of_halves += found.value / 2;
    }
    report_.sampling_bias = (of_halves - report_.divergence) * (1 - used);
    return Ok();
  }

  // Every other record, from the first or the second on.
  static std::vector<float> Half(const Points& points, std::size_t first) {
    std::vector<std::size_t> rows;
    for (std::size_t i = first; i < points.size(); i += 2) rows.push_back(i);
    return Gather(points.values, points.dims, rows);
  }

  Status AddRecords(const Points& a, const Points& b, const Transport& plan) {
    const std::vector<double> of_a(a.size(), 1.0 / static_cast<double>(a.size()));
    const std::vector<double> of_b(b.size(), 1.0 / static_cast<double>(b.size()));
    LATTICE_TRY(const CostRows rows, RowsOf(engine_, Cost::Between(a, b, options_.ground)));
    report_.source =
        Displacements(MeanCosts(engine_, rows, of_b, plan.target, plan.epsilon), of_source_);
    AddMatches(rows, of_a, of_b, plan);
    Done(0.5);
    LATTICE_TRY(const CostRows back, RowsOf(engine_, Cost::Between(b, a, options_.ground)));
    report_.target =
        Displacements(MeanCosts(engine_, back, of_a, plan.source, plan.epsilon), of_target_);
    Done(0.6);
    return Ok();
  }

  // The heaviest pair of each source, and of those the heaviest.
  void AddMatches(const CostRows& rows, std::span<const double> a, std::span<const double> b,
                  const Transport& plan) {
    std::vector<PlanEntry> best(a.size());
    VisitPlan(engine_, rows, a, b, plan,
              [&](const PlanTile& tile, const double* log_weight, std::size_t) {
                for (std::size_t r = 0; r < tile.n_rows; ++r) {
                  const float* const e = tile.e + r * tile.stride;
                  const float* const most = std::max_element(e, e + tile.stride);
                  best[tile.first + r] = {of_source_[tile.first + r],
                                          of_target_[static_cast<std::size_t>(most - e)],
                                          std::exp(log_weight[r]) * static_cast<double>(*most)};
                }
              });
    std::ranges::stable_sort(best, std::ranges::greater{}, &PlanEntry::mass);
    best.resize(std::min(best.size(), options_.n_matches));
    report_.matches = std::move(best);
  }

  // Deals the records of both sets anew: where nothing differs, all deals are alike.
  Status Test() {
    if (options_.n_permutations == 0) return Ok();
    const std::size_t dims = source_.dims;
    const auto a =
        Choose(source_.size(), options_.test_records, Random(options_.seed, kTestSources));
    const auto b =
        Choose(target_.size(), options_.test_records, Random(options_.seed, kTestTargets));
    std::vector<float> pooled = Gather(source_.values, dims, a);
    const std::vector<float> rest = Gather(target_.values, dims, b);
    pooled.insert(pooled.end(), rest.begin(), rest.end());
    std::vector<std::size_t> order(a.size() + b.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t as_far = 1;  // What was seen is one of the deals.
    for (std::size_t k = 0; k <= options_.n_permutations; ++k) {
      if (k > 0) Random(options_.seed, kDeals + k).Shuffle(std::span(order));
      const std::vector<float> dealt = Gather(pooled, dims, order);
      const std::span<const float> all(dealt);
      LATTICE_TRY(const Divergence found, DivergenceOn(engine_, {all.first(a.size() * dims), dims},
                                                       {all.subspan(a.size() * dims), dims},
                                                       options_.ground, sinkhorn_, nullptr, {}));
      if (k == 0) {
        report_.tested = found.value;
        continue;
      }
      report_.chance += found.value / static_cast<double>(options_.n_permutations);
      if (found.value >= report_.tested) ++as_far;
      Done(0.6 + 0.4 * static_cast<double>(k) / static_cast<double>(options_.n_permutations));
    }
    report_.n_permutations = options_.n_permutations;
    report_.p_value =
        static_cast<double>(as_far) / static_cast<double>(options_.n_permutations + 1);
    return Ok();
  }

  const Engine& engine_;
  const Points& source_;
  const Points& target_;
  const DriftOptions& options_;
  SinkhornOptions sinkhorn_;
  std::vector<std::size_t> of_source_, of_target_;
  DriftReport report_;
};

}  // namespace

Result<DriftReport> CompareSets(const Points& source, const Points& target,
                                const DriftOptions& options, const Machine& machine) {
  LATTICE_TRY_VOID(CheckRecords("source", source));
  LATTICE_TRY_VOID(CheckRecords("target", target));
  if (source.dims != target.dims) {
    return Error{ErrorCode::kInvalidArgument,
                 "vectors of " + std::to_string(source.dims) + " and " +
                     std::to_string(target.dims) +
                     " dimensions cannot be compared: use one model for both sets"};
  }
  if (options.max_records == 0 || options.test_records == 0 || options.n_resamples == 0 ||
      !(options.confidence > 0 && options.confidence < 1)) {
    return Error{ErrorCode::kInvalidArgument,
                 "options out of range: max_records, test_records, n_resamples > 0, "
                 "0 < confidence < 1"};
  }
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  return Comparison(**engine, source, target, options).Run();
}

}  // namespace lattice::transport
