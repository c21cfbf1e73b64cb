// Products of the int8 kernels, one thread, in OP/s (an addition and a multiplication count as
// two). kernels_cpu_peak_bench prints what the instructions reach on registers alone.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/gemm_int8/gemm_int8.h"

namespace lattice::kernels {
namespace {

void Gemm(benchmark::State& state, const GemmInt8Variant& variant) {
  const auto m = static_cast<std::size_t>(state.range(0));
  const auto n = static_cast<std::size_t>(state.range(1));
  const auto k = static_cast<std::size_t>(state.range(2));
  AlignedBuffer w(std::size_t{32} << 20), x(m * k * variant.input.bytes), y(m * n * 4);
  std::memset(w.data(), 3, w.size());
  std::memset(x.data(), 5, x.size());
  for (std::size_t i = 0; i < m && variant.input.prepare != nullptr; ++i) {
    variant.input.prepare(x.As<std::uint8_t>().data() + i * k * variant.input.bytes, k);
  }
  const std::vector<float> w_scale(n, 0.5f), bias(n, 0.5f);
  const std::vector<std::int32_t> w_sum(n, 7);
  const std::vector<Int8Row> x_row(m, {0.5f, 100, 3.0f, 77});
  // Few rows are limited by the way of the weights: take another copy of the matrix each time, so
  // that they come from where a model's other layers would have pushed them.
  const std::size_t copies = w.size() / (n * k);
  std::size_t copy = 0;
  for (auto _ : state) {
    variant.run({.x = x.As<std::uint8_t>().data(),
                 .x_row = x_row.data(),
                 .m = m,
                 .k = k,
                 .w = w.As<std::int8_t>().data() + copy * n * k,
                 .w_sum = w_sum.data(),
                 .w_scale = w_scale.data(),
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
  state.counters["OP/s"] = benchmark::Counter(2 * macs, benchmark::Counter::kIsRate);
  state.counters["weights B/s"] =
      benchmark::Counter(macs / static_cast<double>(m), benchmark::Counter::kIsRate);
}

int Register() {
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const GemmInt8Variant& v : GemmInt8Variants()) {
    if (!cpu.Has(v.needs)) continue;
    auto* bench = benchmark::RegisterBenchmark(("GemmInt8/" + std::string(v.name)).c_str(),
                                               [&v](benchmark::State& state) { Gemm(state, v); });
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
