// Where the time of an embedding run goes: microseconds a token for each operation of the backend.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "embed/embedding_model.h"
#include "kernels/cpu/cpu_backend.h"
#include "timed_backend.h"

namespace lattice::bench {
namespace {

using kernels::Precision;

struct Options {
  std::string model, precision = "f32", cpu;
  std::size_t threads = 2, texts = 200, words = 250, rounds = 5;
};

// Texts of common words, nearly all of which are one token.
std::vector<std::string> MakeTexts(std::size_t n_texts, std::size_t n_words) {
  constexpr const char* kWords[] = {"time",  "people", "water", "house", "music", "river", "paper",
                                    "green", "small",  "open",  "story", "light", "north", "city"};
  std::vector<std::string> texts(n_texts);
  std::size_t at = 0;
  for (std::string& text : texts) {
    for (std::size_t w = 0; w < n_words; ++w, at = at * 5 + w + 1) {
      text += w == 0 ? "" : " ";
      text += kWords[at % std::size(kWords)];
    }
  }
  return texts;
}

Status Profile(const Options& options) {
  CpuFeatures features = CpuFeatures::Detect();
  if (!options.cpu.empty()) {
    LATTICE_TRY(features, CpuFeatures::Named(options.cpu));
  }
  ThreadPool pool(options.threads);
  const auto cpu = kernels::MakeCpuBackend(pool, features);
  kernels::TimedBackend backend(*cpu);
  embed::Engine engine;
  engine.backend = &backend;
  engine.pool = &pool;
  engine.precision = options.precision == "int8"   ? Precision::kInt8
                     : options.precision == "bf16" ? Precision::kBf16
                                                   : Precision::kF32;
  LATTICE_TRY(const auto model,
              embed::EmbeddingModel::Load({options.model, options.model, "", ""}, engine));
  const std::vector<std::string> texts = MakeTexts(options.texts, options.words);
  LATTICE_TRY(const Embeddings warm, model->Embed(texts, {}));
  std::size_t n_tokens = 0;
  for (const TextUsage& usage : warm.usage) n_tokens += usage.n_tokens;
  backend.Reset();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t r = 0; r < options.rounds; ++r) {
    LATTICE_TRY(const Embeddings again, model->Embed(texts, {}));
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;

  const double per_token = 1e6 / static_cast<double>(n_tokens * options.rounds);
  std::printf("%s, %s: %zu texts, %zu tokens\n", backend.Describe().c_str(),
              options.precision.c_str(), texts.size(), n_tokens);
  std::printf("%-40s %10s %8s %8s\n", "operation", "us/token", "share", "calls");
  double inside = 0;
  const auto print = [&](const std::string& name, double seconds, std::size_t calls) {
    std::printf("%-40s %10.3f %7.1f%% %8zu\n", name.c_str(), seconds * per_token,
                seconds / taken.count() * 100, calls);
  };
  for (const auto& [name, entry] : backend.Entries()) {
    print(name, entry.seconds, entry.calls / options.rounds);
    inside += entry.seconds;
  }
  print("outside (tokens, pooling)", taken.count() - inside, 1);
  print("all", taken.count(), 1);
  return Ok();
}

}  // namespace
}  // namespace lattice::bench

int main(int argc, char** argv) {
  lattice::bench::Options options;
  CLI::App app("Where the time of an embedding run goes, by operation of the backend.");
  app.add_option("model", options.model, "Folder of the model")->required();
  app.add_option("--precision", options.precision)->check(CLI::IsMember({"f32", "bf16", "int8"}));
  app.add_option("--cpu", options.cpu, "Instruction set, as of `lattice --cpu`");
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
  app.add_option("--texts", options.texts)->check(CLI::Range(1, 1000000));
  app.add_option("--words", options.words, "Words of a text")->check(CLI::Range(1, 100000));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  if (const lattice::Status done = lattice::bench::Profile(options); !done) {
    std::fprintf(stderr, "embedding_profile: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
