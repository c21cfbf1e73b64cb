#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "vectors/dot/dot.h"

namespace lattice::vectors {
namespace {

enum class Op { kDot, kSquaredDistance, kDotAndNorm, kDotAndNorms };

void Run(benchmark::State& state, const DotFns& fns, Op op) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> a(n, 0.5f), b(n, 0.25f);
  float sums[3] = {};
  for (auto _ : state) {
    switch (op) {
      case Op::kDot:
        sums[0] = fns.dot(a.data(), b.data(), n);
        break;
      case Op::kSquaredDistance:
        sums[0] = fns.squared_distance(a.data(), b.data(), n);
        break;
      case Op::kDotAndNorm:
        fns.dot_and_norm(a.data(), b.data(), n, sums);
        break;
      case Op::kDotAndNorms:
        fns.dot_and_norms(a.data(), b.data(), n, sums);
        break;
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * n * sizeof(float)));
}

const bool kRegistered = [] {
  constexpr struct {
    const char* name;
    Op op;
  } kOps[] = {{"dot", Op::kDot},
              {"squared_distance", Op::kSquaredDistance},
              {"dot_and_norm", Op::kDotAndNorm},
              {"dot_and_norms", Op::kDotAndNorms}};
  const CpuFeatures cpu = CpuFeatures::Detect();
  for (const auto& [name, op] : kOps) {
    for (const DotVariant& row : DotVariants()) {
      if (!cpu.Has(row.needs)) continue;
      const std::string title = std::string(name) + "/" + row.name;
      benchmark::RegisterBenchmark(
          title.c_str(), [fns = row.fns, op = op](benchmark::State& s) { Run(s, *fns, op); })
          ->ArgName("n")
          ->Arg(384)
          ->Arg(768)
          ->Arg(1024);
    }
  }
  return true;
}();

}  // namespace
}  // namespace lattice::vectors
