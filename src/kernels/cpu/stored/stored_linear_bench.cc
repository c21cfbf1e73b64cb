// Layers of stored weights on a pool: bytes of weights a second for one row, operations a second
// for many, beside what a plain loop reads from memory.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/stored/random_weights.h"
#include "kernels/cpu/stored/stored_linear.h"

namespace lattice::kernels {
namespace {

// More than any cache of the machines that we know, like a model.
constexpr std::size_t kStreamBytes = std::size_t{320} << 20;

// Rows of one format, one block of random ones repeated: values do not matter for speed.
AlignedBuffer Repeated(Dtype dtype, std::size_t size_bytes) {
  const RandomWeights some(dtype, 64, 1024, 1);
  const std::span<const std::byte> from = some.tensor().bytes;
  AlignedBuffer all(size_bytes);
  for (std::size_t at = 0; at < size_bytes; at += from.size()) {
    std::memcpy(all.data() + at, from.data(), std::min(from.size(), size_bytes - at));
  }
  return all;
}

void ReadMemory(benchmark::State& state) {
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  const AlignedBuffer buffer = Repeated(Dtype::kBf16, kStreamBytes);
  const auto words = buffer.As<std::uint64_t>();
  std::atomic<std::uint64_t> total{0};
  for (auto _ : state) {
    pool.ParallelFor(words.size(), 4096, [&](std::size_t begin, std::size_t end) {
      std::uint64_t sum[16] = {};
      for (std::size_t i = begin; i + 16 <= end; i += 16) {
        for (std::size_t l = 0; l < 16; ++l) sum[l] += words[i + l];
      }
      for (const std::uint64_t s : sum) total += s;
    });
  }
  benchmark::DoNotOptimize(total.load());
  state.SetBytesProcessed(static_cast<std::int64_t>(kStreamBytes) * state.iterations());
}

void Layer(benchmark::State& state, Dtype dtype, Precision precision) {
  const auto threads = static_cast<std::size_t>(state.range(0));
  const auto m = static_cast<std::size_t>(state.range(1));
  const auto k = static_cast<std::size_t>(state.range(2));
  const auto n = static_cast<std::size_t>(state.range(3));
  ThreadPool pool(threads);
  const std::size_t layer_bytes = StorageBytes(dtype, n * k);
  // One row goes from layer to layer, so that weights come from memory.
  const std::size_t n_layers = m > 1 ? 1 : std::max<std::size_t>(1, kStreamBytes / layer_bytes);
  const AlignedBuffer memory = Repeated(dtype, n_layers * layer_bytes);
  ProcessWeightMemory weights;
  std::vector<std::unique_ptr<LinearWeights>> layers;
  for (std::size_t i = 0; i < n_layers; ++i) {
    const HostTensor tensor = {dtype, n, k, {memory.data() + i * layer_bytes, layer_bytes}, {}};
    layers.push_back(
        MakeCpuStoredLinear(pool, weights, {&tensor, 1}, {}, precision, CpuFeatures::Detect())
            .value());
  }
  const std::vector<float> values = RandomFloats(m * k, 2);
  CpuBuffer x, y;
  x.Reshape(m, k);
  std::copy(values.begin(), values.end(), x.data());
  std::size_t i = 0;
  for (auto _ : state) {
    static_cast<const CpuLinear&>(*layers[i]).Run(pool, x, {}, y);
    i = (i + 1) % n_layers;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(layer_bytes) * state.iterations());
  state.counters["OP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(m * n * k) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

int Register() {
  benchmark::RegisterBenchmark("ReadMemory", ReadMemory)
      ->ArgName("threads")
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime();
  const struct {
    const char* name;
    Dtype dtype;
    Precision precision;
  } cases[] = {
      {"bf16/bf16", Dtype::kBf16, Precision::kBf16}, {"bf16/f32", Dtype::kBf16, Precision::kF32},
      {"f32/f32", Dtype::kF32, Precision::kF32},     {"q8_0/int8", Dtype::kQ8_0, Precision::kInt8},
      {"q4_0/int8", Dtype::kQ4_0, Precision::kInt8}, {"q4_k/int8", Dtype::kQ4K, Precision::kInt8},
      {"q6_k/int8", Dtype::kQ6K, Precision::kInt8}};
  for (const auto& c : cases) {
    auto* bench = benchmark::RegisterBenchmark(
        (std::string("Stored/") + c.name).c_str(),
        [c](benchmark::State& state) { Layer(state, c.dtype, c.precision); });
    bench->ArgNames({"threads", "m", "k", "n"})->UseRealTime();
    for (const int m : {1, 4, 32, 512}) {
      for (const auto& [k, n] : {std::pair{1024, 6144}, {1024, 7168}, {3584, 1024}}) {
        bench->Args({2, m, k, n});
      }
    }
    bench->Args({2, 1, 1024, 248320});
    bench->Args({1, 1, 1024, 6144});
    bench->Args({1, 512, 1024, 6144});
  }
  return 0;
}
[[maybe_unused]] const int registered = Register();

}  // namespace
}  // namespace lattice::kernels
