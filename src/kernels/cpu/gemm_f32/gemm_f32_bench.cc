// Products of the f32 kernels, one thread, in FLOP/s (an addition and a multiplication count as
// two). linear_peak_bench prints what the instructions reach on registers alone.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

namespace lattice::kernels {
namespace {

void Gemm(benchmark::State& state, GemmF32Fn run) {
  const auto m = static_cast<std::size_t>(state.range(0));
  const auto n = static_cast<std::size_t>(state.range(1));
  const auto k = static_cast<std::size_t>(state.range(2));
  AlignedBuffer w(std::size_t{32} << 20), x(m * k * 4), y(m * n * 4);
  for (float& v : w.As<float>()) v = 0.5f;
  for (float& v : x.As<float>()) v = 0.5f;
  const std::vector<float> bias(n, 0.5f);
  // Few rows are limited by the way of the weights: take another copy of the matrix each time, so
  // that they come from where a model's other layers would have pushed them.
  const std::size_t copies = w.size() / (n * k * 4);
  std::size_t copy = 0;
  for (auto _ : state) {
    run({.x = x.As<float>().data(),
         .x_stride = k,
         .m = m,
         .k = k,
         .w = w.As<float>().data() + copy * n * k,
         .bias = bias.data(),
         .residual = nullptr,
         .residual_stride = 0,
         .y = y.As<float>().data(),
         .y_stride = n,
         .n = n});
    copy = (copy + 1) % copies;
    benchmark::ClobberMemory();
  }
  const double macs = static_cast<double>(m * n * k) * static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(2 * macs, benchmark::Counter::kIsRate);
  state.counters["weights B/s"] =
      benchmark::Counter(4 * macs / static_cast<double>(m), benchmark::Counter::kIsRate);
}

int Register() {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const GemmF32Variant& v : GemmF32Variants()) {
    if (!cpu.Has(v.needs)) continue;
    auto* bench =
        benchmark::RegisterBenchmark(("GemmF32/" + std::string(v.name)).c_str(),
                                     [run = v.run](benchmark::State& state) { Gemm(state, run); });
    bench->ArgNames({"m", "n", "k"});
    for (const int m : {1, 12, 32, 128, 512}) {
      for (const auto& [n, k] :
           {std::pair{384, 384}, {1152, 384}, {1536, 384}, {384, 1536}, {768, 3072}}) {
        bench->Args({m, n, k});
      }
    }
  }
  return 0;
}
[[maybe_unused]] const int registered = Register();

}  // namespace
}  // namespace lattice::kernels
