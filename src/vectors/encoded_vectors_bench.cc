#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "lattice/encoded_vectors.h"
#include "numeric/random.h"
#include "vectors/narrow_dot/narrow_dot.h"

namespace lattice {
namespace {

// n elements at the border of a cache line.
template <typename T>
AlignedBuffer Filled(std::size_t n, T value) {
  AlignedBuffer memory(n * sizeof(T));
  std::ranges::fill(memory.As<T>(), value);
  return memory;
}

// One pair in the cache, every row of the table.
const bool kRegistered = [] {
  for (const auto& row : vectors::NarrowDotVariants()) {
    if (!CpuFeatures::Detect().Has(row.needs)) continue;
    const auto add = [&](const char* name, auto run) {
      benchmark::RegisterBenchmark(
          (std::string(name) + "/" + row.name).c_str(),
          [fns = row.fns, run](benchmark::State& state) {
            const auto n = static_cast<std::size_t>(state.range(0));
            const AlignedBuffer query = Filled(n, 0.5f), a = Filled(n, std::uint16_t{0x1111}),
                                b = Filled(n, std::uint16_t{0x2222});
            for (auto _ : state) {
              benchmark::DoNotOptimize(run(*fns, query.As<const float>().data(),
                                           a.As<const std::uint16_t>().data(),
                                           b.As<const std::uint16_t>().data(), n));
            }
          })
          ->ArgName("n")
          ->Arg(384)
          ->Arg(768)
          ->Arg(1024);
    };
    using Fns = vectors::NarrowDotFns;
    using Half = std::uint16_t;
    const auto bytes = [](const Half* p) { return reinterpret_cast<const std::uint8_t*>(p); };
    const auto ints = [](const Half* p) { return reinterpret_cast<const std::int8_t*>(p); };
    add("f32_f16", [](const Fns& f, const float* q, const Half*, const Half* b, std::size_t n) {
      return f.f16(q, b, n);
    });
    add("f32_bf16", [](const Fns& f, const float* q, const Half*, const Half* b, std::size_t n) {
      return f.bf16(q, b, n);
    });
    add("f16", [](const Fns& f, const float*, const Half* a, const Half* b, std::size_t n) {
      return f.f16_pair(a, b, n);
    });
    add("bf16", [](const Fns& f, const float*, const Half* a, const Half* b, std::size_t n) {
      return f.bf16_pair(a, b, n);
    });
    add("f32_int8", [=](const Fns& f, const float* q, const Half*, const Half* b, std::size_t n) {
      return f.wide_i8(q, ints(b), n);
    });
    add("int8", [=](const Fns& f, const float*, const Half* a, const Half* b, std::size_t n) {
      return f.i8(ints(a), ints(b), n);
    });
    add("int4", [=](const Fns& f, const float*, const Half* a, const Half* b, std::size_t n) {
      return f.i4(bytes(a), bytes(b), n / 2);
    });
    add("binary", [=](const Fns& f, const float*, const Half* a, const Half* b, std::size_t n) {
      return f.hamming(bytes(a), bytes(b), n / 8);
    });
  }
  return true;
}();

// The cosine of two stored vectors in the cache, through the public door, checks included.
void BM_Score(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(1));
  Random random(7);
  std::vector<float> values(2 * n);
  for (float& v : values) v = static_cast<float>(random.Uniform() - 0.5);
  const auto encoding = static_cast<VectorEncoding>(state.range(0));
  const auto rows = EncodedVectors::Encode({encoding, n, false, Metric::kCosine}, values);
  for (auto _ : state) benchmark::DoNotOptimize(rows->Score(0, *rows, 1).value());
}
BENCHMARK(BM_Score)
    ->ArgNames({"encoding", "n"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {384, 768, 1024}});

// 10 of 200,000 rows of 384 elements.
void BM_EncodedTopK(benchmark::State& state) {
  constexpr std::size_t kDims = 384, kRows = 200'000;
  Random random(7);
  std::vector<float> values(kDims * kRows);
  for (float& v : values) v = static_cast<float>(random.Uniform() - 0.5);
  const auto encoding = static_cast<VectorEncoding>(state.range(0));
  const auto rows = EncodedVectors::Encode({encoding, kDims, false, Metric::kCosine}, values);
  const std::span<const float> query = std::span(values).first(kDims);
  const auto n_threads = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(rows->TopK(query, 10, n_threads).value());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(rows->bytes().size()));
}
BENCHMARK(BM_EncodedTopK)
    ->ArgNames({"encoding", "threads"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lattice
