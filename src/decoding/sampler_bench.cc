// One draw from a vocabulary of 248,000 tokens with the settings that people use.

#include <benchmark/benchmark.h>

#include "decoding/log_probabilities.h"
#include "decoding/sampler.h"
#include "decoding/test_rows.h"

namespace lattice::decoding {
namespace {

constexpr std::size_t kVocab = 248000;

void Run(benchmark::State& state, const SamplingOptions& options, float deviation = 3.0f) {
  const std::vector<float> row = RandomRow(1, kVocab, deviation);
  auto sampler = Sampler::Create(options, kVocab);
  LATTICE_CHECK(sampler.has_value());
  for (auto _ : state) benchmark::DoNotOptimize(sampler->Sample(row));
}

void Greedy(benchmark::State& state) { Run(state, {.temperature = 0}); }
void TopKTopP(benchmark::State& state) {
  Run(state, {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f});
}
void TopPOnly(benchmark::State& state) { Run(state, {.temperature = 0.8f, .top_p = 0.95f}); }
void TopPOfAFlatRow(benchmark::State& state) {
  Run(state, {.temperature = 0.8f, .top_p = 0.95f}, /*deviation=*/0.5f);
}
void TypicalOfAFlatRow(benchmark::State& state) {
  Run(state, {.temperature = 0.8f, .typical_p = 0.95f}, /*deviation=*/0.5f);
}
void MinP(benchmark::State& state) { Run(state, {.temperature = 0.8f, .min_p = 0.05f}); }
void NoFilter(benchmark::State& state) { Run(state, {}); }
void Mirostat(benchmark::State& state) { Run(state, {.mirostat_tau = 5}); }
BENCHMARK(Greedy);
BENCHMARK(TopKTopP);
BENCHMARK(TopPOnly);
BENCHMARK(TopPOfAFlatRow);
BENCHMARK(TypicalOfAFlatRow);
BENCHMARK(MinP);
BENCHMARK(NoFilter);
BENCHMARK(Mirostat);

void LogProbabilitiesOf20(benchmark::State& state) {
  const std::vector<float> row = RandomRow(1, kVocab);
  LogProbabilityReader reader;
  LogProbabilities read;
  for (auto _ : state) benchmark::DoNotOptimize(reader.Read(row, 5, 20, read));
}
BENCHMARK(LogProbabilitiesOf20);

}  // namespace
}  // namespace lattice::decoding
