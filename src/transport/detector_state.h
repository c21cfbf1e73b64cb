#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/drift.h"

namespace lattice::transport {

/// All that a detector's readings follow from.
struct DetectorState {
  Ground ground = Ground::kCosine;
  SinkhornOptions sinkhorn;  ///< Balanced, epsilon chosen.
  std::size_t dims = 0, window = 0;
  std::size_t n_records = 0;  ///< Added so far.
  double false_alarms = 0;
  std::vector<float> reference;  ///< [*, dims]
  SelfTransport self;            ///< Of the reference.
  std::vector<double> scores;    ///< Of calibration windows, rising.
  std::vector<float> waiting;    ///< [< window, dims]

  /// The score that a part `false_alarms` of windows without drift exceeds.
  double Threshold() const;
};

/// Layout, little-endian: "LATDRIFT", u32 version 1, u32 ground, then u64 dims, window, n_records,
/// max_iterations, references, scores, waiting, self iterations, then f64 epsilon, tolerance,
/// scaling, false_alarms, self value, then the reference and the waiting records in f32, the
/// potential and the scores in f64, then the SHA-256 of all before.
std::vector<std::byte> WriteState(const DetectorState& state);
/// kCorruptData for anything that WriteState cannot have written, kUnsupported for another version.
/// Allocates no more than the bytes' length.
Result<DetectorState> ReadState(std::span<const std::byte> bytes);

}  // namespace lattice::transport
