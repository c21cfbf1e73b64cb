#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "fann/kernels.h"
#include "fann/network_data.h"
#include "fann/workers.h"
#include "lattice/fann_training.h"

namespace lattice::fann {

/// A stretch of parameters that fits the cache; all of them or none decay.
struct Segment {
  std::size_t begin = 0, n = 0;
  bool decays = false;
};
std::vector<Segment> SegmentsOf(const NetworkData& data);

/// The length of a gradient: partial sums of each segment, added in order. Not finite exactly when
/// an element is not.
double GradientNorm(std::span<const float> gradient, std::span<const Segment> segments,
                    const Kernels& kernels, Workers& workers);

/// What an optimiser remembers, and its steps.
class Updater {
 public:
  Updater(const NetworkData& data, const TrainOptions& options);

  /// One step along -gradient * scale. All buffers as NetworkData::parameters.
  void Step(std::span<float> parameters, std::span<const float> gradient, double rate, double scale,
            std::span<const Segment> segments, const Kernels& kernels, Workers& workers);

  /// Number of steps so far, and the memories: none, one or two buffers of all parameters.
  std::uint64_t n_steps = 0;
  std::vector<AlignedBuffer> memories;

 private:
  Optimiser optimiser_;
  double momentum_, beta1_, beta2_, epsilon_, weight_decay_;
};

}  // namespace lattice::fann
