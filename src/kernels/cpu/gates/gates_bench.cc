#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/gates/gates.h"

namespace lattice::kernels {
namespace {

using Step = void (*)(const GateKernels&, const float* y, float* x, std::size_t n);

void RunStep(benchmark::State& state, const GateKernels* kernels, Step step) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> x(2048), y(2048), work(2048);
  for (float& v : x) v = normal(rng);
  for (float& v : y) v = normal(rng);
  for (auto _ : state) {
    work = x;  // About 0.02 ns an element.
    step(*kernels, y.data(), work.data(), work.size());
    benchmark::DoNotOptimize(work.data());
  }
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(x.size()),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  struct Named {
    const char* name;
    Step step;
  };
  constexpr Named kSteps[] = {
      {"sigmoid_multiply", [](const GateKernels& k, const float* y, float* x,
                              std::size_t n) { k.sigmoid_multiply(y, x, n); }},
      {"add_gated", [](const GateKernels& k, const float* y, float* x,
                       std::size_t n) { k.add_gated(0.5f, y, x, n); }},
      {"soft_cap", [](const GateKernels& k, const float*, float* x,
                      std::size_t n) { k.soft_cap(30.0f, x, n); }},
      {"add_scale", [](const GateKernels& k, const float* y, float* x,
                       std::size_t n) { k.add_scale(0.5f, y, x, n); }},
  };
  for (const GateVariant& variant : GateVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const Named& named : kSteps) {
      const std::string name = std::string(named.name) + "/" + variant.name;
      benchmark::RegisterBenchmark(name.c_str(), RunStep, variant.run, named.step);
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
