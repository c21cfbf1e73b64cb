#include "kernels/cpu/peak/peak.h"

#include <algorithm>
#include <chrono>

namespace lattice::kernels {

const PeakVariant* FindPeak(CpuFeatures features, Precision precision) {
  for (const PeakVariant& variant : PeakVariants()) {
    if (variant.precision == precision && features.Has(variant.needs)) return &variant;
  }
  return nullptr;
}

double MeasurePeak(ThreadPool& pool, const PeakVariant& variant) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPasses = 7;
  constexpr double kPassSeconds = 0.015;
  const auto seconds = [&](std::size_t n_steps) {
    const auto start = Clock::now();
    pool.ParallelFor(pool.n_threads(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) variant.run(n_steps);
    });
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::size_t n_steps = 1000;
  while (seconds(n_steps) < kPassSeconds) n_steps *= 2;
  double best = seconds(n_steps);
  for (int pass = 1; pass < kPasses; ++pass) best = std::min(best, seconds(n_steps));
  const auto n_threads = static_cast<double>(pool.n_threads());
  return variant.ops_per_step * static_cast<double>(n_steps) * n_threads / best;
}

}  // namespace lattice::kernels
