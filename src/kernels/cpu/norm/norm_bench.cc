#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/norm/norm.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kRows = 16;

void RunLayerNorm(benchmark::State& state, const NormKernels* run, std::size_t n) {
  const std::vector<float> x(kRows * n, 1.5f), residual(kRows * n, 0.5f), gain(n, 1), bias(n, 0);
  std::vector<float> out(kRows * n);
  for (auto _ : state) {
    run->layer_norm(x.data(), residual.data(), gain.data(), bias.data(), 1e-5f, kRows, n,
                    out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(kRows * n),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

void RunRmsNorm(benchmark::State& state, const NormKernels* run, std::size_t n) {
  const std::vector<float> x(kRows * n, 1.5f), gain(n, 1);
  std::vector<float> out(kRows * n);
  for (auto _ : state) {
    run->rms_norm(x.data(), nullptr, gain.data(), 1e-6f, kRows, n, n, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(kRows * n),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  const CpuFeatures features = CpuFeatures::Detect();
  for (const NormVariant& variant : NormVariants()) {
    if (!features.Has(variant.needs)) continue;
    for (std::size_t n : {384u, 1024u}) {
      const std::string end = std::string("/") + variant.name + "/n:" + std::to_string(n);
      benchmark::RegisterBenchmark(("layer_norm_residual" + end).c_str(), RunLayerNorm, variant.run,
                                   n);
      benchmark::RegisterBenchmark(("rms_norm" + end).c_str(), RunRmsNorm, variant.run, n);
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
