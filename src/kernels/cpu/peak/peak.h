#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/api/backend.h"

namespace lattice::kernels {

/// A multiply-add instruction that products can use, on registers alone.
struct PeakVariant {
  const char* name;
  CpuFeatures needs;
  Precision precision;  ///< Of its inputs; sums are f32, or 32-bit integers for kInt8.
  double ops_per_step;  ///< A multiplication and an addition are two.
  void (*run)(std::size_t n_steps);
};

/// All of this architecture, fastest first within a precision.
std::span<const PeakVariant> PeakVariants();

/// Null when no kernel of these features has an instruction for such inputs.
const PeakVariant* FindPeak(CpuFeatures features, Precision precision);

/// Operations a second that the pool's threads reach together: the limit of prompts, whose products
/// use each weight for many rows. The best of a few passes; takes about a tenth of a second.
double MeasurePeak(ThreadPool& pool, const PeakVariant& variant);

}  // namespace lattice::kernels
