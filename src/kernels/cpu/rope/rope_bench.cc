#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/rope/rope.h"

namespace lattice::kernels {
namespace {

void RunRope(benchmark::State& state, RopeFn run, std::size_t n_heads, std::size_t head_dim) {
  constexpr std::size_t kRows = 16;
  std::vector<float> x(kRows * n_heads * head_dim, 0.5f), inv_freq(head_dim / 2, 0.01f);
  std::vector<std::int32_t> positions(kRows);
  for (std::size_t i = 0; i < kRows; ++i) positions[i] = static_cast<std::int32_t>(100 * i);
  for (auto _ : state) {
    run({x.data(), n_heads * head_dim, kRows, n_heads, head_dim, positions.data(), inv_freq.data(),
         inv_freq.size(), 1.0f});
    benchmark::DoNotOptimize(x.data());
  }
  state.counters["elements/s"] = benchmark::Counter(static_cast<double>(x.size()),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  const CpuFeatures features = CpuFeatures::Detect();
  for (const RopeVariant& variant : RopeVariants()) {
    if (!features.Has(variant.needs)) continue;
    for (const auto& [n_heads, head_dim] : {std::pair{24u, 64u}, std::pair{24u, 128u}}) {
      const std::string name = std::string("rope/") + variant.name +
                               "/heads:" + std::to_string(n_heads) +
                               "/dim:" + std::to_string(head_dim);
      benchmark::RegisterBenchmark(name.c_str(), RunRope, variant.run, std::size_t{n_heads},
                                   std::size_t{head_dim});
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
