#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/attention/attention.h"

namespace lattice::kernels {
namespace {

struct Shape {
  std::size_t n_heads, n_kv_heads, head_dim, n_tokens, n_texts;
  bool causal;
};

void Fill(CpuBuffer& buffer, std::size_t rows, std::size_t cols, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  buffer.Reshape(rows, cols);
  for (std::size_t i = 0; i < rows * cols; ++i) buffer.data()[i] = normal(rng);
}

// One thread. GFLOP/s counts 4 * queries * keys * head_dim a head, hidden ones too.
void RunAttention(benchmark::State& state, const AttentionVariant* variant, Shape shape) {
  ThreadPool pool(1);
  const std::size_t rows = shape.n_tokens * shape.n_texts;
  const std::size_t q_cols = shape.n_heads * shape.head_dim;
  const std::size_t kv_cols = shape.n_kv_heads * shape.head_dim;
  CpuBuffer qkv, out;
  Fill(qkv, rows, q_cols + 2 * kv_cols, 1);
  std::vector<AttentionSpan> spans;
  std::vector<std::uint32_t> index;
  for (std::size_t t = 0; t < shape.n_texts; ++t) {
    const auto begin = static_cast<std::uint32_t>(t * shape.n_tokens);
    const auto end = static_cast<std::uint32_t>((t + 1) * shape.n_tokens);
    spans.push_back({begin, end, begin, end});
    for (std::uint32_t i = 0; i < shape.n_tokens; ++i) index.push_back(i);
  }
  AttentionArgs args;
  args.q = args.kv = &qkv;
  args.k_col = q_cols;
  args.v_col = q_cols + kv_cols;
  args.n_heads = shape.n_heads;
  args.n_kv_heads = shape.n_kv_heads;
  args.head_dim = shape.head_dim;
  args.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  args.spans = spans;
  args.query_index = index;
  args.causal = shape.causal;
  args.precision = variant->run->per_slot == 1 ? Precision::kF32 : Precision::kBf16;
  CpuAttention attention(variant->needs);
  for (auto _ : state) {
    attention.Run(pool, args, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["flop/s"] = benchmark::Counter(
      4.0 * static_cast<double>(rows * shape.n_tokens * shape.n_heads * shape.head_dim),
      benchmark::Counter::kIsIterationInvariantRate);
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  constexpr Shape kShapes[] = {
      {12, 12, 32, 10, 100, false}, {12, 12, 32, 128, 4, false}, {12, 12, 32, 256, 2, false},
      {12, 12, 32, 512, 1, false},  {12, 12, 64, 256, 2, false}, {16, 8, 128, 512, 1, true},
      {3, 1, 256, 512, 1, false},
  };
  const CpuFeatures features = CpuFeatures::Detect();
  for (const AttentionVariant& variant : AttentionVariants()) {
    if (!features.Has(variant.needs)) continue;
    for (const Shape& shape : kShapes) {
      const std::string name =
          std::string(variant.name) + "/dim:" + std::to_string(shape.head_dim) +
          "/tokens:" + std::to_string(shape.n_tokens) + (shape.causal ? "/causal" : "");
      benchmark::RegisterBenchmark(name.c_str(), RunAttention, &variant, shape);
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
