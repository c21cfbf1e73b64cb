#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "lattice/vectors.h"

namespace lattice {
namespace {

constexpr std::size_t kDims = 384, kMostRows = 1'000'000;

std::vector<float> Uniform(std::size_t n) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<float> x(n);
  for (float& v : x) v = unit(rng);
  return x;
}

// The first rows of one matrix, filled once: 1.5 GB. Huge pages, as NumPy asks for too.
std::span<const float> Rows(std::size_t n_rows) {
  static const AlignedBuffer memory = [] {
    AlignedBuffer filled(kDims * kMostRows * sizeof(float));
    std::uint32_t state = 1;
    for (float& v : filled.As<float>()) {
      state = state * 1664525 + 1013904223;
      v = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    }
    return filled;
  }();
  return memory.As<float>().first(n_rows * kDims);
}

// 64 pairs through the public door, checks included, at borders of cache lines; items are pairs.
template <Result<float> (VectorOps::*kCompare)(std::span<const float>, std::span<const float>)
              const>
void BM_Pairs(benchmark::State& state) {
  constexpr std::size_t kPairs = 64;
  const auto n = static_cast<std::size_t>(state.range(0));
  const VectorOps ops;
  AlignedBuffer memory(2 * n * kPairs * sizeof(float));
  std::ranges::copy(Uniform(2 * n * kPairs), memory.As<float>().begin());
  const std::span<const float> a = memory.As<float>().first(n * kPairs);
  const std::span<const float> b = memory.As<float>().last(n * kPairs);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kPairs; ++i) {
      const auto x = a.subspan(i * n, n), y = b.subspan(i * n, n);
      benchmark::DoNotOptimize((ops.*kCompare)(x, y).value());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPairs));
}
void Dimensions(benchmark::internal::Benchmark* bench) {
  bench->ArgName("n")->Arg(384)->Arg(768)->Arg(1024);
}
BENCHMARK(BM_Pairs<&VectorOps::Cosine>)->Name("cosine/pairs")->Apply(Dimensions);
BENCHMARK(BM_Pairs<&VectorOps::Dot>)->Name("dot/pairs")->Apply(Dimensions);
BENCHMARK(BM_Pairs<&VectorOps::SquaredEuclidean>)->Name("l2sq/pairs")->Apply(Dimensions);
BENCHMARK(BM_Pairs<&VectorOps::Euclidean>)->Name("l2/pairs")->Apply(Dimensions);

// 10 of many rows for each of some queries; items are queries, bytes those of the rows, once.
void BM_TopK(benchmark::State& state) {
  const auto metric = static_cast<Metric>(state.range(0));
  const auto matrix = Rows(static_cast<std::size_t>(state.range(1)));
  const auto n_threads = static_cast<std::size_t>(state.range(2));
  const auto n_queries = static_cast<std::size_t>(state.range(3));
  const VectorOps ops;
  const auto queries = Uniform(kDims * n_queries);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ops.TopKMany(queries, kDims, matrix, 10, metric, n_threads).value());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(matrix.size() * 4));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n_queries));
}
BENCHMARK(BM_TopK)
    ->ArgNames({"metric", "rows", "threads", "queries"})
    ->ArgsProduct({{static_cast<int>(Metric::kCosine), static_cast<int>(Metric::kDot)},
                   {100'000, 1'000'000},
                   {1, 2},
                   {1, 32}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// What a search is judged by: the same rows added up.
void BM_Read(benchmark::State& state) {
  const auto matrix = Rows(static_cast<std::size_t>(state.range(0)));
  ThreadPool pool(static_cast<std::size_t>(state.range(1)));
  const std::span words(reinterpret_cast<const std::uint64_t*>(matrix.data()), matrix.size() / 2);
  for (auto _ : state) {
    std::atomic<std::uint64_t> total = 0;
    pool.ParallelFor(words.size() / 8, 4096, [&](std::size_t begin, std::size_t end) {
      std::uint64_t sums[8] = {};
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t j = 0; j < 8; ++j) sums[j] += words[i * 8 + j];
      }
      for (const std::uint64_t sum : sums) total += sum;
    });
    benchmark::DoNotOptimize(total.load());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(matrix.size() * 4));
}
BENCHMARK(BM_Read)
    ->ArgNames({"rows", "threads"})
    ->ArgsProduct({{1'000'000}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lattice
