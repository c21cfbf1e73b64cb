// Whole linear layers on a pool, in OP/s: splitting, quantising and the epilogue included.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kernels/cpu/linear/linear.h"

namespace lattice::kernels {
namespace {

void Layer(benchmark::State& state, Precision precision, Activation activation) {
  const auto threads = static_cast<std::size_t>(state.range(0));
  const auto m = static_cast<std::size_t>(state.range(1));
  const auto n = static_cast<std::size_t>(state.range(2));
  const auto k = static_cast<std::size_t>(state.range(3));
  ThreadPool pool(threads);
  PanelArena arena;
  std::vector<float> weights(n * k);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 17) - 8.0f;
  const HostTensor matrix = {Dtype::kF32, n, k, std::as_bytes(std::span(weights))};
  // As many layers as a small model has weights, so that few rows find them where a model would.
  std::vector<std::unique_ptr<LinearWeights>> layers;
  for (std::size_t bytes = 0; bytes < (std::size_t{40} << 20); bytes += n * k * sizeof(float)) {
    layers.push_back(
        MakeCpuLinear(pool, arena, {&matrix, 1}, {}, precision, CpuFeatures::Detect()).value());
  }
  CpuBuffer x, y;
  x.Reshape(m, k);
  for (std::size_t i = 0; i < m * k; ++i) x.data()[i] = static_cast<float>(i % 13) - 6.0f;
  std::size_t i = 0;
  for (auto _ : state) {
    static_cast<const CpuLinear&>(*layers[i]).Run(pool, x, {activation, nullptr}, y);
    i = (i + 1) % layers.size();
  }
  state.counters["OP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(m * n * k) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

int Register() {
  const std::pair<const char*, Precision> precisions[] = {
      {"f32", Precision::kF32}, {"bf16", Precision::kBf16}, {"int8", Precision::kInt8}};
  for (const auto& [name, precision] : precisions) {
    for (const bool gelu : {false, true}) {
      const Activation activation = gelu ? Activation::kGeluErf : Activation::kNone;
      auto* bench = benchmark::RegisterBenchmark(
          (std::string("Linear/") + name + (gelu ? "/gelu" : "")).c_str(),
          [p = precision, activation](benchmark::State& state) { Layer(state, p, activation); });
      bench->ArgNames({"threads", "m", "n", "k"})->UseRealTime();
      for (const int m : {1, 12, 32, 128, 512}) {
        if (gelu) {
          bench->Args({2, m, 1536, 384});
          continue;
        }
        for (const auto& [n, k] :
             {std::pair{384, 384}, {1152, 384}, {1536, 384}, {384, 1536}, {768, 3072}}) {
          bench->Args({2, m, n, k});
        }
      }
    }
  }
  return 0;
}
[[maybe_unused]] const int registered = Register();

}  // namespace
}  // namespace lattice::kernels
