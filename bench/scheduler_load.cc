// Many streams at once: tokens a second of all of them, and how long each waits for its first token
// and from one token to the next.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "engine/scheduler.h"
#include "engine/text_model.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/model_files.h"

namespace lattice::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::size_t threads = 2, prompt = 128, generated = 64, each = 2;
  std::vector<std::size_t> streams = {1, 8, 32};
  engine::SchedulerOptions scheduler;
};

/// The times of one request, in milliseconds.
struct Times {
  double first = 0;             ///< Since its work began.
  std::vector<double> between;  ///< From one token to the next.
  Clock::time_point last = {};
};

double Share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values[at];
}

class Load {
 public:
  Load(const Options& options, const engine::TextModel& model, engine::Scheduler& scheduler)
      : options_(options), model_(model), scheduler_(scheduler) {}

  /// All requests wait from the start; n_streams are at work at once.
  Status Run(std::size_t n_streams) {
    const auto begin = Clock::now();
    std::vector<Times> times(n_streams * options_.each);
    for (Times& one : times) {
      if (const auto refusal = scheduler_.Submit(Request(one))) return refusal->error;
    }
    if (!scheduler_.Drain(begin + std::chrono::hours(1))) {
      return Error{ErrorCode::kInternal, "an hour was not enough"};
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::vector<double> first, between;
    for (const Times& one : times) {
      first.push_back(one.first);
      between.insert(between.end(), one.between.begin(), one.between.end());
    }
    const engine::SchedulerMetrics metrics = scheduler_.metrics();
    std::printf("%8zu %10.1f %10.1f %10.1f %10.1f %10.2f %10.2f\n", n_streams,
                static_cast<double>(metrics.generated_tokens) / seconds,
                static_cast<double>(metrics.prompt_tokens) / seconds, Share(first, 0.5),
                Share(first, 0.99), Share(between, 0.5), Share(between, 0.99));
    return Ok();
  }

 private:
  engine::GenerationRequest Request(Times& times) {
    engine::GenerationRequest request;
    request.prompt.resize(options_.prompt);
    for (TokenId& id : request.prompt) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<TokenId>((random_ >> 33) % model_.n_tokens());
    }
    request.options.max_tokens = options_.generated;
    request.options.ignore_stop_tokens = true;
    request.options.sampling.temperature = 0;
    request.on_token = [&times](const engine::GeneratedToken& token) {
      if (token.id < 0) return;
      const auto now = Clock::now();
      if (times.last != Clock::time_point()) {
        times.between.push_back(
            std::chrono::duration<double, std::milli>(now - times.last).count());
      }
      times.last = now;
    };
    request.on_end = [&times](const engine::GenerationEnd& end) {
      times.first = end.usage.first_token_seconds * 1000;
    };
    return request;
  }

  const Options& options_;
  const engine::TextModel& model_;
  engine::Scheduler& scheduler_;
  std::uint64_t random_ = 1;
};

Status RunLoad(const Options& options) {
  ThreadPool pool(options.threads);
  const auto backend = kernels::MakeCpuBackend(pool, CpuFeatures::Detect());
  LATTICE_TRY(const auto files, models::ModelFiles::Open(options.model));
  LATTICE_TRY(const auto model, engine::LoadTextModel(*files, *backend, {}));
  std::printf("%s\n%8s %10s %10s %10s %10s %10s %10s\n", backend->Describe().c_str(), "streams",
              "tokens/s", "prompt/s", "first p50", "first p99", "next p50", "next p99");
  for (const std::size_t n : options.streams) {
    engine::SchedulerOptions scheduler_options = options.scheduler;
    scheduler_options.max_sequences = n;
    scheduler_options.max_waiting = n * options.each;
    LATTICE_TRY(const auto scheduler,
                engine::Scheduler::Start(model, *backend, pool, scheduler_options));
    LATTICE_TRY_VOID(Load(options, model, *scheduler).Run(n));
  }
  return Ok();
}

}  // namespace
}  // namespace lattice::bench

int main(int argc, char** argv) {
  lattice::bench::Options options;
  CLI::App app("Many streams of one model: tokens a second, and milliseconds that a stream waits.");
  app.add_option("model", options.model, "Folder or .gguf file of the model")->required();
  app.add_option("-t,--threads", options.threads, "Worker threads");
  app.add_option("-p,--prompt", options.prompt, "Tokens of each prompt, all different");
  app.add_option("-n,--generated", options.generated, "Tokens of each answer");
  app.add_option("--each", options.each, "Requests of each stream, one after another");
  app.add_option("--streams", options.streams, "How many at once")->delimiter(',');
  app.add_option("--chunk-beside", options.scheduler.chunk_beside_answers,
                 "Rows of prompts beside answers");
  app.add_option("--memory", options.scheduler.memory_bytes, "Bytes of keys, values and states");
  CLI11_PARSE(app, argc, argv);
  const auto done = lattice::bench::RunLoad(options);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
