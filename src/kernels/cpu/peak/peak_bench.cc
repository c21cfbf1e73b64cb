#include <benchmark/benchmark.h>

#include "kernels/cpu/peak/peak.h"

// What the product benchmarks of one thread are to be compared with.

namespace lattice::kernels {
namespace {

const bool kRegistered = [] {
  for (const PeakVariant& variant : PeakVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    benchmark::RegisterBenchmark(variant.name, [&variant](benchmark::State& state) {
      constexpr std::size_t kSteps = 1000;
      for (auto _ : state) variant.run(kSteps);
      state.counters["OP/s"] = benchmark::Counter(
          variant.ops_per_step * kSteps * static_cast<double>(state.iterations()),
          benchmark::Counter::kIsRate);
    });
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
