#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/delta_net/delta_net.h"

namespace lattice::kernels {
namespace {

// The layers of Qwen3.5-0.8B.
constexpr DeltaNetShape kShape = {16, 16, 128, 128, 4, KeyHeadOrder::kBlocked};
constexpr std::size_t kLayers = 18;

std::vector<float> Random(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// Layers in turn, n_rows a call. bytes/s counts the state proper once a call, as a single row reads
// it; rows of a prompt read it once a chunk.
void RunDeltaNet(benchmark::State& state, const DeltaNetVariant* variant, std::size_t n_rows,
                 std::size_t n_threads) {
  ThreadPool pool(n_threads);
  const std::size_t cols = kShape.conv_width() + 2 * kShape.n_value_heads;
  CpuBuffer x, out;
  x.Reshape(n_rows, cols);
  const std::vector<float> values = Random(n_rows * cols, 1);
  std::copy(values.begin(), values.end(), x.data());
  const CpuVector conv(Random(kShape.conv_width() * kShape.conv_kernel, 2));
  const CpuVector decay(std::vector<float>(kShape.n_value_heads, -0.1f));
  const CpuVector dt_bias(Random(kShape.n_value_heads, 3));
  std::vector<std::unique_ptr<CpuDeltaNetState>> layers;
  for (std::size_t i = 0; i < kLayers; ++i) {
    layers.push_back(std::make_unique<CpuDeltaNetState>(kShape));
  }
  CpuDeltaNet delta_net(variant->needs);
  DeltaNetArgs args;
  args.shape = kShape;
  args.weights = {&conv, &decay, &dt_bias};
  args.x = &x;
  args.beta_col = kShape.conv_width();
  args.decay_col = args.beta_col + kShape.n_value_heads;
  std::size_t layer = 0;
  for (auto _ : state) {
    const DeltaNetSpan span = {0, static_cast<std::uint32_t>(n_rows),
                               layers[layer++ % kLayers].get()};
    args.spans = {&span, 1};
    delta_net.Run(pool, args, out);
    benchmark::DoNotOptimize(out.data());
  }
  const std::size_t state_floats = kShape.n_value_heads * kShape.key_dim * kShape.value_dim;
  using benchmark::Counter;
  state.counters["bytes/s"] = Counter(static_cast<double>(state_floats * sizeof(float)),
                                      Counter::kIsIterationInvariantRate);
  state.counters["rows/s"] =
      Counter(static_cast<double>(n_rows), Counter::kIsIterationInvariantRate);
}

// What the memory gives: layers of the same size, more than the caches hold, only read.
void RunRead(benchmark::State& state, std::size_t n_threads) {
  ThreadPool pool(n_threads);
  const std::size_t n = kShape.n_value_heads * kShape.key_dim * kShape.value_dim;
  std::vector<std::vector<float>> layers(5 * kLayers, std::vector<float>(n, 1.0f));
  std::size_t layer = 0;
  for (auto _ : state) {
    const std::vector<float>& values = layers[layer++ % layers.size()];
    pool.ParallelFor(n, 1024, [&](std::size_t begin, std::size_t end) {
      // A byte that is not there.
      benchmark::DoNotOptimize(std::memchr(&values[begin], 0x55, (end - begin) * sizeof(float)));
    });
  }
  state.counters["bytes/s"] = benchmark::Counter(static_cast<double>(n * sizeof(float)),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  for (const std::size_t n_threads : {1u, 2u}) {
    const std::string threads = "/threads:" + std::to_string(n_threads);
    benchmark::RegisterBenchmark(("memory" + threads).c_str(), RunRead, n_threads)->UseRealTime();
    for (const DeltaNetVariant& variant : DeltaNetVariants()) {
      if (!CpuFeatures::Detect().Has(variant.needs)) continue;
      for (const std::size_t n_rows : {1u, 4u, 32u, 512u}) {
        const std::string name =
            std::string(variant.name) + "/rows:" + std::to_string(n_rows) + threads;
        benchmark::RegisterBenchmark(name.c_str(), RunDeltaNet, &variant, n_rows, n_threads)
            ->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
