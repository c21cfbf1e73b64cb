#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/paged_attention/paged_attention.h"

namespace lattice::kernels {
namespace {

struct Shape {
  std::size_t n_heads, n_kv_heads, head_dim;
};

struct Work {
  const char* name;
  std::size_t n_rows, depth;  // Rows at the end of `depth` positions.
};

void Fill(CpuBuffer& buffer, std::size_t rows, std::size_t cols, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  buffer.Reshape(rows, cols);
  for (std::size_t i = 0; i < rows * cols; ++i) buffer.data()[i] = normal(rng);
}

// Layers in turn, as many as the caches do not hold. bytes/s counts keys and values once a call;
// flop/s 4 * rows * visible keys * head_dim a head.
void RunPaged(benchmark::State& state, const PagedAttentionVariant* variant, Shape shape,
              KvType type, Work work, std::size_t n_threads) {
  ThreadPool pool(n_threads);
  const std::size_t q_cols = shape.n_heads * shape.head_dim;
  const std::size_t kv_cols = shape.n_kv_heads * shape.head_dim;
  const std::size_t n_pages = (work.depth + kPageTokens - 1) / kPageTokens;
  CpuPagedAttention attention(variant->needs);
  std::vector<std::unique_ptr<KvPages>> layers;
  CpuBuffer q, kv, out;
  Fill(q, work.n_rows, q_cols, 1);
  Fill(kv, work.depth, 2 * kv_cols, 2);
  std::vector<std::uint32_t> slots(work.depth), table(n_pages);
  for (std::uint32_t i = 0; i < slots.size(); ++i) slots[i] = i;
  for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = i;
  const KvShape kv_shape = {shape.n_kv_heads, shape.head_dim, type};
  for (std::size_t bytes = 0; layers.empty() || bytes < std::size_t{96} << 20;) {
    layers.push_back(CpuKvPages::Make(kv_shape, n_pages).value());
    attention.Store(pool, kv, 0, kv_cols, slots, AsCpu(*layers.back()));
    bytes += n_pages * layers.back()->page_bytes();
  }
  const PagedSpan span = {0, static_cast<std::uint32_t>(work.n_rows),
                          static_cast<std::uint32_t>(work.depth - work.n_rows), table};
  PagedAttentionArgs args;
  args.q = &q;
  args.n_heads = shape.n_heads;
  args.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  args.spans = {&span, 1};
  std::size_t layer = 0;
  for (auto _ : state) {
    args.kv = layers[layer++ % layers.size()].get();
    attention.Run(pool, args, out);
    benchmark::DoNotOptimize(out.data());
  }
  const double keys =
      static_cast<double>(work.n_rows) * static_cast<double>(2 * work.depth - work.n_rows + 1) / 2;
  using benchmark::Counter;
  state.counters["bytes/s"] = Counter(static_cast<double>(n_pages * layers[0]->page_bytes()),
                                      Counter::kIsIterationInvariantRate);
  state.counters["flop/s"] =
      Counter(4 * keys * static_cast<double>(q_cols), Counter::kIsIterationInvariantRate);
}

const bool kRegistered = [] {
  constexpr Shape kShapes[] = {{8, 2, 256}, {9, 3, 64}};
  constexpr Work kWorks[] = {
      {"decode", 1, 2048}, {"decode", 1, 8192}, {"prompt", 512, 512}, {"prompt", 512, 8192}};
  struct Type {
    const char* name;
    KvType type;
  };
  constexpr Type kTypes[] = {{"f32", KvType::kF32}, {"f16", KvType::kF16}, {"q8", KvType::kQ8}};
  for (const PagedAttentionVariant& variant : PagedAttentionVariants()) {
    if (!CpuFeatures::Detect().Has(variant.needs)) continue;
    for (const Shape& shape : kShapes) {
      for (const Work& work : kWorks) {
        for (const Type& type : kTypes) {
          for (const std::size_t n_threads : {1u, 2u}) {
            const std::string name = std::string(variant.name) +
                                     "/dim:" + std::to_string(shape.head_dim) + "/" + work.name +
                                     ":" + std::to_string(work.n_rows) +
                                     "/depth:" + std::to_string(work.depth) + "/" + type.name +
                                     "/threads:" + std::to_string(n_threads);
            benchmark::RegisterBenchmark(name.c_str(), RunPaged, &variant, shape, type.type, work,
                                         n_threads)
                ->UseRealTime();
          }
        }
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::kernels
