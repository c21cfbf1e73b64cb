#include <utility>

#include "transport/engine.h"
#include "transport/mean_targets.h"

namespace lattice::transport {

Result<Divergence> DivergenceOn(const Engine& engine, const Points& source, const Points& target,
                                Ground ground, const SinkhornOptions& given,
                                const SelfTransport* source_self, std::span<const double> start) {
  LATTICE_TRY_VOID(CheckBalanced(given, "a divergence"));
  LATTICE_TRY(const auto a, CheckedWeights("source", source.weights, source.size()));
  LATTICE_TRY(const auto b, CheckedWeights("target", target.weights, target.size()));
  Divergence result;
  SinkhornOptions options = given;
  {
    LATTICE_TRY(const CostRows rows, RowsOf(engine, Cost::Between(source, target, ground)));
    if (source_self != nullptr && options.epsilon == 0) options.epsilon = source_self->epsilon;
    LATTICE_TRY(options.epsilon, CheckedEpsilon(options, rows));
    LATTICE_TRY(result.cross, SolveRows(engine, rows, a, b, options, start));
  }
  const double epsilon = options.epsilon;
  if (source_self != nullptr) {
    if (source_self->epsilon != epsilon || source_self->potential.size() != a.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   "the self transport is of other points or of another epsilon"};
    }
    result.source = *source_self;
  } else {
    LATTICE_TRY(const CostRows rows, RowsOf(engine, Cost::Between(source, source, ground)));
    LATTICE_TRY(result.source, SolveSelfRows(engine, rows, a, epsilon, options));
  }
  LATTICE_TRY(const CostRows rows, RowsOf(engine, Cost::Between(target, target, ground)));
  LATTICE_TRY(result.target, SolveSelfRows(engine, rows, b, epsilon, options));
  result.value = result.cross.value - (result.source.value + result.target.value) / 2;
  return result;
}

Result<SelfTransport> SolveSelf(const Points& points, Ground ground, const SinkhornOptions& options,
                                const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  LATTICE_TRY_VOID(CheckBalanced(options, "a divergence"));
  LATTICE_TRY(const auto a, CheckedWeights("source", points.weights, points.size()));
  LATTICE_TRY(const CostRows rows, RowsOf(**engine, Cost::Between(points, points, ground)));
  LATTICE_TRY(const double epsilon, CheckedEpsilon(options, rows));
  return SolveSelfRows(**engine, rows, a, epsilon, options);
}

Result<Divergence> SinkhornDivergence(const Points& source, const Points& target, Ground ground,
                                      const SinkhornOptions& options, const Machine& machine,
                                      const SelfTransport* source_self,
                                      std::span<const double> start) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  return DivergenceOn(**engine, source, target, ground, options, source_self, start);
}

Result<std::vector<float>> DivergenceGradient(const Points& source, const Points& target,
                                              const Divergence& divergence,
                                              const Machine& machine) {
  LATTICE_TRY(const auto engine, OwnedEngine::Make(machine));
  constexpr Ground kGround = Ground::kSquaredEuclidean;
  LATTICE_TRY(const auto a, CheckedWeights("source", source.weights, source.size()));
  LATTICE_TRY(const auto b, CheckedWeights("target", target.weights, target.size()));
  LATTICE_TRY(const CostRows cross, RowsOf(**engine, Cost::Between(source, target, kGround)));
  LATTICE_TRY(const CostRows self, RowsOf(**engine, Cost::Between(source, source, kGround)));
  Transport own;
  own.source = own.target = divergence.source.potential;
  own.epsilon = divergence.source.epsilon;
  if (divergence.cross.source.size() != a.size() || divergence.cross.target.size() != b.size() ||
      own.source.size() != a.size() || !(own.epsilon > 0)) {
    return Error{ErrorCode::kInvalidArgument, "the divergence is of other points"};
  }
  // By the envelope theorem only the costs move: 2 a (x - T(x)) for each transport.
  std::vector<float> to(source.values.size()), to_own(source.values.size());
  MeanTargets(**engine, cross, a, b, divergence.cross, to);
  MeanTargets(**engine, self, a, a, own, to_own);
  std::vector<float> gradient(source.values.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::size_t t = i % source.dims;
    const double x = static_cast<double>(source.values[i]);
    const double from_cross = x - (static_cast<double>(to[i]) + cross.target_centre()[t]);
    const double from_self = x - (static_cast<double>(to_own[i]) + self.target_centre()[t]);
    gradient[i] = static_cast<float>(2 * a[i / source.dims] * (from_cross - from_self));
  }
  return gradient;
}

}  // namespace lattice::transport
