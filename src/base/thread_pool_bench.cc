#include <benchmark/benchmark.h>

#include "base/thread_pool.h"

namespace lattice {
namespace {

// Calls without work, one after another and after a serial gap as between two operations of a
// decode step: what a parallel loop costs.
void Empty(benchmark::State& state, bool waits_for_all) {
  ThreadPool pool(static_cast<std::size_t>(state.range(0)));
  const auto gap = static_cast<std::size_t>(state.range(1));
  std::size_t busy = 1;
  for (auto _ : state) {
    for (std::size_t i = 0; i < gap; ++i) benchmark::DoNotOptimize(busy = busy * 5 + i);
    if (waits_for_all) {
      pool.Run([](std::size_t) {});
    } else {
      pool.Share([](std::size_t) {});
    }
  }
}

void Run(benchmark::State& state) { Empty(state, true); }
void Share(benchmark::State& state) { Empty(state, false); }
BENCHMARK(Run)->ArgNames({"threads", "gap"})->ArgsProduct({{1, 2, 4}, {0, 5000}})->UseRealTime();
BENCHMARK(Share)->ArgNames({"threads", "gap"})->ArgsProduct({{1, 2, 4}, {0, 5000}})->UseRealTime();

}  // namespace
}  // namespace lattice
