#include "apps/bench_embedding.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/bench_texts.h"
#include "apps/json_text.h"
#include "apps/peak_memory.h"
#include "apps/text_input.h"
#include "base/thread_pool.h"

namespace lattice::apps {
namespace {

using Clock = std::chrono::steady_clock;

// A pass shorter than this is repeated, and the median of the repetitions counts as one.
constexpr double kShortPass = 0.02;
constexpr int kShortPasses = 100;

struct Measurement {
  std::string test;
  std::size_t n_texts = 0;
  std::size_t n_tokens = 0;
  std::vector<double> seconds;  // one a round, sorted

  double median() const { return seconds[seconds.size() / 2]; }
};

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

Result<double> TimePass(EmbeddingService& service, const std::vector<std::string>& texts,
                        const EmbedRequest& request) {
  const auto once = [&]() -> Result<double> {
    const auto start = Clock::now();
    LATTICE_TRY(const Embeddings embeddings, service.Embed(texts, request));
    return Seconds(start);
  };
  LATTICE_TRY(const double first, once());
  if (first > kShortPass) return first;
  std::vector<double> all;
  for (int i = 0; i < kShortPasses; ++i) {
    LATTICE_TRY(const double seconds, once());
    all.push_back(seconds);
  }
  std::nth_element(all.begin(), all.begin() + kShortPasses / 2, all.end());
  return all[kShortPasses / 2];
}

Result<Measurement> Measure(EmbeddingService& service, const BenchTexts& workload,
                            const EmbedRequest& request, std::size_t rounds) {
  Measurement result;
  result.test = workload.name;
  result.n_texts = workload.texts.size();
  LATTICE_TRY(const Embeddings warm, service.Embed(workload.texts, request));
  for (const TextUsage& usage : warm.usage) result.n_tokens += usage.n_tokens;
  for (std::size_t round = 0; round < rounds; ++round) {
    LATTICE_TRY(const double seconds, TimePass(service, workload.texts, request));
    result.seconds.push_back(seconds);
  }
  std::sort(result.seconds.begin(), result.seconds.end());
  return result;
}

std::string Number(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Json(const std::vector<Measurement>& all, const EmbeddingBenchArguments& arguments,
                 double load_s, std::size_t threads) {
  std::string out = "[";
  for (const Measurement& m : all) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += "{\"test\":";
    AppendJson(m.test, out);
    out += ",\"texts\":" + std::to_string(m.n_texts) + ",\"tokens\":" + std::to_string(m.n_tokens);
    out += Number(",\"seconds\":%.9g", m.median());
    out += Number(",\"texts_per_s\":%.6g", static_cast<double>(m.n_texts) / m.median());
    const auto tokens = static_cast<double>(m.n_tokens);
    out += Number(",\"tokens_per_s\":%.6g", tokens / m.median());
    out += Number(",\"min\":%.6g", tokens / m.seconds.back());
    out += Number(",\"max\":%.6g", tokens / m.seconds.front());
    out += ",\"threads\":" + std::to_string(threads) + ",\"precision\":\"" +
           arguments.embedding.precision + "\"";
    out += Number(",\"load_s\":%.6g", load_s);
    out += ",\"peak_bytes\":" + std::to_string(PeakBytes()) + "}";
  }
  return out + "\n]\n";
}

std::string Table(const std::vector<Measurement>& all, double load_s, std::size_t threads) {
  std::string out =
      "test          texts    tokens       median      texts/s     tokens/s  spread\n";
  for (const Measurement& m : all) {
    char line[160];
    const double spread = (m.seconds.back() - m.seconds.front()) / m.median() * 100;
    std::snprintf(line, sizeof(line), "%-12s %6zu %9zu %9.3f ms %12.1f %12.0f  %5.1f %%\n",
                  m.test.c_str(), m.n_texts, m.n_tokens, m.median() * 1e3,
                  static_cast<double>(m.n_texts) / m.median(),
                  static_cast<double>(m.n_tokens) / m.median(), spread);
    out += line;
  }
  return out + Number("load %.0f ms, ", load_s * 1e3) +
         Number("peak memory %.0f MB, ", static_cast<double>(PeakBytes()) / 1e6) +
         std::to_string(threads) + " threads\n";
}

Result<std::vector<BenchTexts>> Workloads(const std::vector<std::string>& files) {
  if (files.empty()) return BuiltInBenchTexts();
  std::vector<BenchTexts> workloads;
  for (const std::string& file : files) {
    LATTICE_TRY(TextInput input, TextInput::Open({}, file));
    LATTICE_TRY(std::vector<std::string> texts, input.All(std::size_t{1} << 30));
    if (texts.empty()) return Error{ErrorCode::kInvalidArgument, file + " holds no text"};
    workloads.push_back({std::filesystem::path(file).stem().string(), std::move(texts)});
  }
  return workloads;
}

}  // namespace

Status BenchEmbedding(const EmbeddingBenchArguments& arguments, const AppContext& context) {
  LATTICE_TRY(const std::vector<BenchTexts> workloads, Workloads(arguments.inputs));
  EmbedRequest request;
  request.model = arguments.embedding.model;
  request.stop = context.stop;
  const auto start = Clock::now();
  LATTICE_TRY(const auto service, OpenService(arguments.embedding, context));
  LATTICE_TRY(const EmbeddingModelInfo model, service->Describe(request.model));
  const double load_s = Seconds(start);
  const std::size_t threads =
      arguments.embedding.threads != 0 ? arguments.embedding.threads : ThreadPool::DefaultThreads();
  std::vector<Measurement> all;
  for (const BenchTexts& workload : workloads) {
    LATTICE_TRY(Measurement measured, Measure(*service, workload, request, arguments.rounds));
    all.push_back(std::move(measured));
  }
  return Print(arguments.json ? Json(all, arguments, load_s, threads)
                              : Table(all, load_s, threads));
}

}  // namespace lattice::apps
