#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lattice/drift.h"
#include "transport/detector_state.h"
#include "transport/engine.h"
#include "transport/records.h"

namespace lattice::transport {
namespace {

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

struct Score {
  double divergence = 0;
  bool converged = false;
};

// Divergence of a window and the reference. Starts from the reference's own potential, which is
// close to the solution while nothing drifts: a score depends on the window alone.
Result<Score> ScoreOf(const Engine& engine, const DetectorState& state,
                      std::span<const float> window) {
  const Points own{window, state.dims}, reference{state.reference, state.dims};
  LATTICE_TRY(const auto a, CheckedWeights("window", {}, own.size()));
  LATTICE_TRY(const auto b, CheckedWeights("reference", {}, reference.size()));
  LATTICE_TRY(const CostRows cross, RowsOf(engine, Cost::Between(own, reference, state.ground)));
  LATTICE_TRY(const Transport plan,
              SolveRows(engine, cross, a, b, state.sinkhorn, state.self.potential));
  LATTICE_TRY(const CostRows rows, RowsOf(engine, Cost::Between(own, own, state.ground)));
  LATTICE_TRY(const SelfTransport self,
              SolveSelfRows(engine, rows, a, state.sinkhorn.epsilon, state.sinkhorn));
  return Score{plan.value - (self.value + state.self.value) / 2, plan.converged && self.converged};
}

Status CheckOptions(const DetectorOptions& options, std::size_t n_reference) {
  const bool are_fine = options.window > 0 && options.n_calibrations > 0 &&
                        options.false_alarms > 0 && options.false_alarms < 1;
  if (!are_fine) {
    return Invalid("options out of range: window, n_calibrations > 0, 0 < false_alarms < 1");
  }
  if (std::min(n_reference, options.max_reference) / 4 < options.window) {
    return Invalid("a reference of " + std::to_string(n_reference) +
                   " records is less than four windows of " + std::to_string(options.window));
  }
  return Ok();
}

}  // namespace

struct DriftDetector::State {
  DetectorState of;
  std::unique_ptr<OwnedEngine> engine;
};

DriftDetector::DriftDetector(std::unique_ptr<State> state) : state_(std::move(state)) {}
DriftDetector::DriftDetector(DriftDetector&&) noexcept = default;
DriftDetector& DriftDetector::operator=(DriftDetector&&) noexcept = default;
DriftDetector::~DriftDetector() = default;

Result<DriftDetector> DriftDetector::Make(const Points& reference, const DetectorOptions& options,
                                          const Machine& machine) {
  LATTICE_TRY_VOID(CheckRecords("reference", reference));
  LATTICE_TRY_VOID(CheckOptions(options, reference.size()));
  LATTICE_TRY(auto engine, OwnedEngine::Make(machine));
  auto state = std::make_unique<State>();
  DetectorState& s = state->of;
  s.ground = options.ground;
  s.sinkhorn = options.sinkhorn;
  s.dims = reference.dims;
  s.window = options.window;
  s.false_alarms = options.false_alarms;
  // The two halves, dealt at random.
  std::vector<std::size_t> kept =
      Choose(reference.size(), options.max_reference, Random(options.seed));
  Random(options.seed, 1).Shuffle(std::span(kept));
  const auto frozen = std::span(kept).first(kept.size() / 2);
  const auto held_out = std::span(kept).subspan(frozen.size());
  s.reference = Gather(reference.values, s.dims, frozen);
  const Points points{s.reference, s.dims};
  LATTICE_TRY(const CostRows rows, RowsOf(**engine, Cost::Between(points, points, s.ground)));
  LATTICE_TRY(s.sinkhorn.epsilon, CheckedEpsilon(s.sinkhorn, rows));
  LATTICE_TRY(const auto weights, CheckedWeights("reference", {}, points.size()));
  LATTICE_TRY(s.self, SolveSelfRows(**engine, rows, weights, s.sinkhorn.epsilon, s.sinkhorn));
  if (!s.self.converged) return Invalid("the reference's self transport did not converge");
  for (std::size_t k = 0; k < options.n_calibrations; ++k) {
    std::vector<std::size_t> window =
        Choose(held_out.size(), s.window, Random(options.seed, 2 + k));
    for (std::size_t& i : window) i = held_out[i];
    LATTICE_TRY(const Score score, ScoreOf(**engine, s, Gather(reference.values, s.dims, window)));
    s.scores.push_back(score.divergence);
  }
  std::ranges::sort(s.scores);
  state->engine = std::move(engine);
  return DriftDetector(std::move(state));
}

Result<DriftDetector> DriftDetector::Restore(std::span<const std::byte> saved,
                                             const Machine& machine) {
  auto state = std::make_unique<State>();
  LATTICE_TRY(state->of, ReadState(saved));
  LATTICE_TRY(state->engine, OwnedEngine::Make(machine));
  return DriftDetector(std::move(state));
}

std::vector<std::byte> DriftDetector::Save() const { return WriteState(state_->of); }

Result<std::optional<DriftReading>> DriftDetector::Add(std::span<const float> record) {
  DetectorState& s = state_->of;
  if (record.size() != s.dims) {
    return Invalid("record " + std::to_string(s.n_records) + " has " +
                   std::to_string(record.size()) + " dimensions, the reference " +
                   std::to_string(s.dims));
  }
  if (!std::ranges::all_of(record, [](float v) { return std::isfinite(v); })) {
    return Invalid("record " + std::to_string(s.n_records) + " holds a value that is not finite");
  }
  s.waiting.insert(s.waiting.end(), record.begin(), record.end());
  ++s.n_records;
  if (s.waiting.size() < s.window * s.dims) return std::optional<DriftReading>();
  const std::vector<float> window = std::exchange(s.waiting, {});
  LATTICE_TRY(const Score score, ScoreOf(**state_->engine, s, window));
  DriftReading reading;
  reading.first = s.n_records - s.window;
  reading.divergence = score.divergence;
  reading.converged = score.converged;
  reading.threshold = s.Threshold();
  reading.drifted = score.divergence > reading.threshold;
  const auto below = std::ranges::lower_bound(s.scores, score.divergence) - s.scores.begin();
  reading.p_value = static_cast<double>(s.scores.size() - static_cast<std::size_t>(below) + 1) /
                    static_cast<double>(s.scores.size() + 1);
  return std::optional<DriftReading>(reading);
}

std::size_t DriftDetector::dims() const { return state_->of.dims; }
std::size_t DriftDetector::window() const { return state_->of.window; }
double DriftDetector::threshold() const { return state_->of.Threshold(); }
std::size_t DriftDetector::n_records() const { return state_->of.n_records; }

}  // namespace lattice::transport
