#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "lattice/vectors.h"

namespace lattice {
namespace {

std::vector<float> Uniform(std::size_t n) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x) v = unit(rng);
  return x;
}

// Pairs through the public door, checks included.
void BM_CosinePair(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const VectorOps ops;
  const auto a = Uniform(n), b = Uniform(n);
  for (auto _ : state) benchmark::DoNotOptimize(ops.Cosine(a, b).value());
}
BENCHMARK(BM_CosinePair)->ArgName("n")->Arg(384)->Arg(768)->Arg(1024);

// 10 of 100,000 rows of 384 elements: 154 MB are read.
void BM_TopK(benchmark::State& state) {
  constexpr std::size_t kDims = 384, kRows = 100'000;
  const auto metric = static_cast<Metric>(state.range(0));
  const auto n_threads = static_cast<std::size_t>(state.range(1));
  const VectorOps ops;
  const auto matrix = Uniform(kDims * kRows);
  const auto query = Uniform(kDims);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ops.TopK(query, matrix, 10, metric, n_threads).value());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(matrix.size() * 4));
}
BENCHMARK(BM_TopK)
    ->ArgNames({"metric", "threads"})
    ->ArgsProduct({{static_cast<int>(Metric::kCosine), static_cast<int>(Metric::kDot)}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lattice
