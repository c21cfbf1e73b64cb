#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
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

// 64 pairs through the public door, checks included; items are pairs.
void BM_CosinePairs(benchmark::State& state) {
  constexpr std::size_t kPairs = 64;
  const auto n = static_cast<std::size_t>(state.range(0));
  const VectorOps ops;
  const auto a = Uniform(n * kPairs), b = Uniform(n * kPairs);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      const auto x = std::span(a).subspan(i * n, n), y = std::span(b).subspan(i * n, n);
      benchmark::DoNotOptimize(ops.Cosine(x, y).value());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPairs));
}
BENCHMARK(BM_CosinePairs)->ArgName("n")->Arg(384)->Arg(768)->Arg(1024);

// 10 of 100,000 rows of 384 elements: 154 MB are read.
void BM_TopK(benchmark::State& state) {
  constexpr std::size_t kDims = 384, kRows = 100'000;
  const auto metric = static_cast<Metric>(state.range(0));
  const auto n_threads = static_cast<std::size_t>(state.range(1));
  const VectorOps ops;
  // Huge pages, as NumPy asks for too.
  AlignedBuffer memory(kDims * kRows * sizeof(float));
  std::ranges::copy(Uniform(kDims * kRows), memory.As<float>().begin());
  const std::span<const float> matrix = memory.As<float>();
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
