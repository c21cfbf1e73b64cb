#include <benchmark/benchmark.h>

#include <vector>

#include "lattice/fann_training.h"
#include "numeric/random.h"

namespace lattice::fann {
namespace {

// An epoch of 3,200 rows in batches of 32, Adam: 64 -> 256 -> 256 -> 64 -> 10, 99,530 parameters.
// bench/fann_vs_peers.py runs the same with scikit-learn and PyTorch.
void BM_Epoch(benchmark::State& state) {
  constexpr std::size_t kRows = 3200;
  Random random(1);
  std::vector<float> inputs(kRows * 64);
  for (float& x : inputs) x = static_cast<float>(random.Normal());
  std::vector<std::uint32_t> labels(kRows);
  for (auto& y : labels) y = static_cast<std::uint32_t>(random.Below(10));
  auto network = NetworkBuilder(64)
                     .Layer(256, Activation::kRelu)
                     .Layer(256, Activation::kRelu)
                     .Layer(64, Activation::kRelu)
                     .Layer(10, Activation::kSoftmax)
                     .Build(1)
                     .value();
  for (auto _ : state) {
    auto trainer = Trainer::Create(network, {inputs, {}, labels},
                                   {.loss = Loss::kCrossEntropy,
                                    .n_epochs = 1,
                                    .n_threads = static_cast<std::size_t>(state.range(0))});
    const auto report = trainer->Run();
    if (!report) state.SkipWithError(report.error().message.c_str());
  }
}
BENCHMARK(BM_Epoch)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lattice::fann
