#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "lattice/transport.h"
#include "numeric/random.h"

namespace lattice::transport {
namespace {

std::vector<float> Cloud(std::size_t n, std::size_t dims, std::uint64_t seed, double offset) {
  Random random(seed);
  std::vector<float> x(n * dims);
  const double scale = 1 / std::sqrt(static_cast<double>(dims));
  for (float& v : x) v = static_cast<float>((random.Normal() + offset) * scale);
  return x;
}

// n points of 384 dimensions to n others, to a marginal error of 1e-3.
void BM_Solve(benchmark::State& state) {
  constexpr std::size_t kDims = 384;
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto x = Cloud(n, kDims, 1, 0), y = Cloud(n, kDims, 2, 0.5);
  const Cost cost = Cost::Between({x, kDims}, {y, kDims}, Ground::kSquaredEuclidean);
  SinkhornOptions options;
  options.epsilon = 1.0 / static_cast<double>(state.range(1));
  const Machine machine{.n_threads = static_cast<std::size_t>(state.range(2))};
  for (auto _ : state) {
    const auto result = Solve(cost, {}, {}, options, machine);
    state.counters["iterations"] = static_cast<double>(result->iterations);
    state.counters["error"] = result->marginal_error;
    state.counters["cost"] = result->cost;
  }
}
BENCHMARK(BM_Solve)
    ->ArgNames({"n", "1/epsilon", "threads"})
    ->ArgsProduct({{2000}, {10, 50}, {1, 2}})
    ->Args({20000, 10, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lattice::transport
