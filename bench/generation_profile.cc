// Where the time of a generator goes: microseconds a token for each operation of the backend, for a
// prompt and for tokens one by one, after texts of given lengths.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model.h"
#include "models/sequence.h"
#include "timed_backend.h"

namespace lattice::bench {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::KvType;

constexpr std::size_t kChunk = 512;  // rows of one pass over a prompt

struct Options {
  std::string model, cpu, kv_type = "f16";
  std::size_t threads = 2, prompt = 512, generated = 32, rounds = 3;
  std::vector<std::size_t> depths = {0};
};

class Profile {
 public:
  Profile(const Options& options, const models::Model& model, kernels::TimedBackend& backend)
      : options_(options), model_(model), backend_(backend), workspace_(backend) {}

  Status Run(std::size_t depth, models::SequenceStore& store) {
    const std::unique_ptr<models::Sequence> base = store.New();
    LATTICE_TRY_VOID(Read(depth, kChunk, *base));
    LATTICE_TRY_VOID(Measure("prompt", depth, options_.prompt, kChunk, *base));
    return Measure("one by one", depth, options_.generated, 1, *base);
  }

 private:
  /// n meaningless tokens, `rows` at a time, with the logits of each pass's last row.
  Status Read(std::size_t n, std::size_t rows, models::Sequence& sequence) {
    for (std::size_t done = 0; done < n; done += rows) {
      LATTICE_TRY_VOID(Pass(std::min(rows, n - done), sequence));
    }
    return Ok();
  }

  Status Pass(std::size_t n, models::Sequence& sequence) {
    ids_.resize(n);
    for (TokenId& id : ids_) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<TokenId>((random_ >> 33) % model_.info().vocab);
    }
    LATTICE_TRY_VOID(sequence.Reserve(n));
    const models::SequenceRows rows{0, static_cast<std::uint32_t>(n)};
    const std::uint32_t last = rows.end - 1;
    models::Sequence* const states[] = {&sequence};
    const kernels::Buffer& hidden =
        model_.Forward({ids_, {}, {&rows, 1}, {&last, 1}, states}, workspace_);
    model_.Logits(hidden, {}, workspace_);
    return Ok();
  }

  Status Measure(const char* what, std::size_t depth, std::size_t n, std::size_t rows,
                 const models::Sequence& base) {
    if (n == 0) return Ok();
    double seconds = 0;
    for (std::size_t round = 0; round <= options_.rounds; ++round) {
      LATTICE_TRY(const auto sequence, base.Fork());
      if (round == 1) {  // the first one warms up
        backend_.Reset();
        seconds = 0;
      }
      const auto start = Clock::now();
      LATTICE_TRY_VOID(Read(n, rows, *sequence));
      seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
    std::printf("\n%s, %zu tokens after %zu\n", what, n, depth);
    Print(seconds, static_cast<double>(n * options_.rounds));
    return Ok();
  }

  void Print(double seconds, double n_tokens) const {
    std::printf("%-40s %10s %8s %12s\n", "operation", "us/token", "share", "calls/token");
    kernels::TimedBackend::Entry inside, linear;
    const auto print = [&](const std::string& name, const kernels::TimedBackend::Entry& entry) {
      std::printf("%-40s %10.2f %7.1f%% %12.3f\n", name.c_str(), entry.seconds / n_tokens * 1e6,
                  entry.seconds / seconds * 100, static_cast<double>(entry.calls) / n_tokens);
    };
    const auto add = [](const kernels::TimedBackend::Entry& entry,
                        kernels::TimedBackend::Entry& sum) {
      sum.seconds += entry.seconds;
      sum.calls += entry.calls;
    };
    for (const auto& [name, entry] : backend_.Entries()) {
      print(name, entry);
      add(entry, inside);
      if (name.starts_with("linear")) add(entry, linear);
    }
    print("all products", linear);
    print("all operations but products",
          {inside.seconds - linear.seconds, inside.calls - linear.calls});
    print("outside of operations", {seconds - inside.seconds, 0});
    print("all", {seconds, inside.calls});
  }

  const Options& options_;
  const models::Model& model_;
  kernels::TimedBackend& backend_;
  models::Workspace workspace_;
  std::vector<TokenId> ids_;
  std::uint64_t random_ = 1;
};

Status RunProfile(const Options& options) {
  CpuFeatures features = CpuFeatures::Detect();
  if (!options.cpu.empty()) {
    LATTICE_TRY(features, CpuFeatures::Named(options.cpu));
  }
  ThreadPool pool(options.threads);
  const auto cpu = kernels::MakeCpuBackend(pool, features);
  kernels::TimedBackend backend(*cpu);
  LATTICE_TRY(const auto model, models::LoadModel(options.model, backend, models::LoadOptions{}));
  const std::size_t deepest = *std::ranges::max_element(options.depths);
  models::StoreOptions memory;
  memory.kv_type = options.kv_type == "f32"  ? KvType::kF32
                   : options.kv_type == "q8" ? KvType::kQ8
                                             : KvType::kF16;
  memory.max_tokens =
      deepest + std::max(options.prompt, options.generated) + 4 * kernels::kPageTokens;
  LATTICE_TRY(const auto store, models::SequenceStore::Make(model->state_shape(), backend, memory));
  std::printf("%s\n", backend.Describe().c_str());
  Profile profile(options, *model, backend);
  for (const std::size_t depth : options.depths) LATTICE_TRY_VOID(profile.Run(depth, *store));
  return Ok();
}

}  // namespace
}  // namespace lattice::bench

int main(int argc, char** argv) {
  lattice::bench::Options options;
  CLI::App app("Where the time of a generator goes, by operation of the backend.");
  app.add_option("model", options.model, "Folder or .gguf file of the model")->required();
  app.add_option("--cpu", options.cpu, "Instruction set, as of `lattice --cpu`");
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
  app.add_option("--prompt", options.prompt, "Tokens read at once; 0: none")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--generated", options.generated, "Tokens made one by one; 0: none")
      ->check(CLI::Range(0, 1000000));
  app.add_option("--depths", options.depths, "Tokens read before, untimed")
      ->delimiter(',')
      ->check(CLI::Range(0, 1000000));
  app.add_option("--kv-type", options.kv_type)->check(CLI::IsMember({"f32", "f16", "q8"}));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  if (const lattice::Status done = lattice::bench::RunProfile(options); !done) {
    std::fprintf(stderr, "generation_profile: %s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
