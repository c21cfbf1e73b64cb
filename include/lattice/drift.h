#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lattice/transport.h"

/// Whether two sets of vectors differ, by how much and where: reports for two sets, and a detector
/// for a stream. Errors and reproducibility as in transport.h; a seed fixes every random choice.
namespace lattice::transport {

struct DriftOptions {
  Ground ground = Ground::kCosine;
  SinkhornOptions sinkhorn = {};    ///< Balanced. epsilon 0: 5 % of the mean cost between the sets.
  std::size_t max_records = 4000;   ///< Larger sets are sampled; the report states the error.
  std::size_t n_permutations = 99;  ///< Of the test. 0: none, and p_value is 1.
  std::size_t test_records = 256;   ///< At most so many of each set are dealt in the test.
  std::size_t n_resamples = 1000;   ///< For the interval.
  double confidence = 0.95;         ///< Of the interval, in (0, 1).
  std::size_t n_matches = 10;       ///< Strongest pairs that are listed.
  std::uint64_t seed = 1;
  std::function<void(double part_done)> progress = {};  ///< In [0, 1], from the calling thread.
};

/// How far one record is from where the plan sends it.
struct Displacement {
  std::size_t index = 0;    ///< In the whole set.
  double cost = 0;          ///< The mean over the plan's pairs of this record.
  bool is_outlier = false;  ///< More than 3.5 robust deviations above the median: see drift.cc.
};

struct DriftReport {
  double divergence = 0;  ///< Of the records used.
  double distance = 0;    ///< The cost of the plan.
  double epsilon = 0;
  bool converged = false;
  double marginal_error = 0;
  std::size_t n_source = 0, n_target = 0;            ///< Sizes of the sets,
  std::size_t n_source_used = 0, n_target_used = 0;  ///< and of the samples of them.
  /// What the records used make the divergence vary by: of the whole sets as samples of what they
  /// come from, and of the records used as samples of the sets (0 when all were). From the
  /// potentials, which are the derivatives of the divergence by the weights; where two sets do not
  /// differ at all these vanish, and only the test tells.
  double standard_error = 0, sampling_error = 0;
  /// By how much the records used overstate the divergence of the sets: small samples of equal sets
  /// differ too. From the halves of the samples; 0 when all records were used.
  double sampling_bias = 0;
  double low = 0, high = 0;  ///< Bootstrap interval of the divergence.
  /// Chance of a divergence as large as that of the tested records where nothing differs.
  double p_value = 1;
  std::size_t n_permutations = 0;
  double tested = 0;  ///< Divergence of the records in the test,
  double chance = 0;  ///< and its mean over permutations: the level of noise.
  std::vector<Displacement> source, target;  ///< Of the records used, in order.
  std::vector<PlanEntry> matches;            ///< Heaviest first, with indices in the whole sets.
};

/// Sets of different dimensions are refused: SolveGromov compares those. No weights.
Result<DriftReport> CompareSets(const Points& source, const Points& target,
                                const DriftOptions& options = {}, const Machine& machine = {});

struct DetectorOptions {
  Ground ground = Ground::kCosine;
  SinkhornOptions sinkhorn = {};     ///< Balanced. epsilon 0: 5 % of the reference's mean cost.
  std::size_t window = 256;          ///< Records that are compared at once.
  std::size_t max_reference = 4096;  ///< A larger reference is sampled.
  std::size_t n_calibrations = 199;  ///< Windows by which the threshold is chosen.
  double false_alarms = 0.01;        ///< Of windows without drift, in (0, 1).
  std::uint64_t seed = 1;
};

struct DriftReading {
  std::size_t first = 0;  ///< Number of the window's first record, from 0.
  double divergence = 0;
  double threshold = 0;
  double p_value = 1;    ///< Part of the calibration at least as far.
  bool drifted = false;  ///< divergence > threshold
  bool converged = false;
};

/// Compares windows of a stream with a reference that does not change. Half of the reference is
/// what windows are compared with, its self transport kept; windows drawn from the other half give
/// the threshold. A reading depends on the window alone. Move-only; one thread at a time.
class DriftDetector {
 public:
  /// kInvalidArgument when the reference has fewer than four windows of records.
  static Result<DriftDetector> Make(const Points& reference, const DetectorOptions& options = {},
                                    const Machine& machine = {});
  /// What Save gave: the same readings. kCorruptData for other bytes.
  static Result<DriftDetector> Restore(std::span<const std::byte> saved,
                                       const Machine& machine = {});
  std::vector<std::byte> Save() const;

  DriftDetector(DriftDetector&&) noexcept;
  DriftDetector& operator=(DriftDetector&&) noexcept;
  ~DriftDetector();

  /// Adds a record; a reading when it completes a window, after which the next window starts.
  Result<std::optional<DriftReading>> Add(std::span<const float> record);
  std::size_t dims() const;
  std::size_t window() const;
  double threshold() const;
  std::size_t n_records() const;  ///< That were added.

 private:
  struct State;
  explicit DriftDetector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lattice::transport
