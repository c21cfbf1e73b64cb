#include "apps/bench_generation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "apps/bench_limits.h"
#include "apps/generation_json.h"
#include "apps/peak_memory.h"
#include "apps/text_engine.h"
#include "models/model.h"
#include "models/sequence.h"

namespace lattice::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = 512;  // rows of one pass over a prompt

struct Measurement {
  std::string test;
  std::size_t n_tokens = 0;
  bool decodes = false;         ///< One token at a time.
  std::vector<double> seconds;  ///< One a round, sorted.

  double rate(double s) const { return static_cast<double>(n_tokens) / s; }
  double median() const { return rate(seconds[seconds.size() / 2]); }
  double least() const { return rate(seconds.back()); }
  double most() const { return rate(seconds.front()); }
};

/// The model at work on meaningless tokens: the time does not depend on them.
class Runner {
 public:
  Runner(const models::Model& model, kernels::Backend& backend)
      : model_(model), backend_(backend), workspace_(backend) {}

  /// Reads n tokens, `rows` at a time, with the logits of each pass's last one if asked for.
  Status Read(std::size_t n, std::size_t rows, bool all_logits, models::Sequence& sequence) {
    for (std::size_t done = 0; done < n; done += rows) {
      const std::size_t count = std::min(rows, n - done);
      LATTICE_TRY_VOID(Pass(count, all_logits || done + count == n, sequence));
    }
    return Ok();
  }

 private:
  Status Pass(std::size_t n, bool logits, models::Sequence& sequence) {
    ids_.resize(n);
    for (TokenId& id : ids_) id = NextId();
    LATTICE_TRY_VOID(sequence.Reserve(n));
    const models::SequenceRows rows{0, static_cast<std::uint32_t>(n)};
    const std::uint32_t last = rows.end - 1;
    models::Sequence* const states[] = {&sequence};
    const models::Batch batch{ids_, {}, {&rows, 1}, {&last, 1}, states};
    const kernels::Buffer& hidden = model_.Forward(batch, workspace_);
    if (!logits) return Ok();
    const kernels::Buffer& row = model_.Logits(hidden, {}, workspace_);
    values_.resize(row.cols());
    backend_.Read(row, values_);
    return Ok();
  }

  TokenId NextId() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<TokenId>((random_ >> 33) % model_.info().vocab);
  }

  const models::Model& model_;
  kernels::Backend& backend_;
  models::Workspace workspace_;
  std::vector<TokenId> ids_;
  std::vector<float> values_;
  std::uint64_t random_ = 1;
};

std::string TestName(const char* kind, std::size_t n, std::size_t depth) {
  std::string name = kind + std::to_string(n);
  if (depth != 0) name += "@d" + std::to_string(depth);
  return name;
}

/// Every test at one depth, which is read once and forked for each round.
class DepthBench {
 public:
  DepthBench(const GenerationBenchArguments& arguments, Runner& runner, std::stop_token stop)
      : arguments_(arguments), runner_(runner), stop_(std::move(stop)) {}

  Status Run(std::size_t depth, models::SequenceStore& store, std::vector<Measurement>& out) {
    const std::unique_ptr<models::Sequence> base = store.New();
    LATTICE_TRY_VOID(runner_.Read(depth, kChunk, false, *base));
    for (const std::size_t n : arguments_.prompts) {
      if (n == 0) continue;
      out.push_back({TestName("pp", n, depth), n, false, {}});
      LATTICE_TRY_VOID(Measure(*base, kChunk, false, out.back()));
    }
    for (const std::size_t n : arguments_.generated) {
      if (n == 0) continue;
      out.push_back({TestName("tg", n, depth), n, true, {}});
      LATTICE_TRY_VOID(Measure(*base, 1, true, out.back()));
    }
    return Ok();
  }

 private:
  Status Measure(const models::Sequence& base, std::size_t rows, bool all_logits, Measurement& m) {
    for (std::size_t round = 0; round <= arguments_.rounds; ++round) {
      if (stop_.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
      LATTICE_TRY(const auto sequence, base.Fork());
      const auto start = Clock::now();
      LATTICE_TRY_VOID(runner_.Read(m.n_tokens, rows, all_logits, *sequence));
      const std::chrono::duration<double> seconds = Clock::now() - start;
      if (round != 0) m.seconds.push_back(seconds.count());  // the first one warms up
    }
    std::ranges::sort(m.seconds);
    return Ok();
  }

  const GenerationBenchArguments& arguments_;
  Runner& runner_;
  std::stop_token stop_;
};

struct Report {
  std::vector<Measurement> tests;
  std::string model;
  std::size_t n_threads = 0;
  double load_seconds = 0;
  std::size_t peak_bytes = 0;
  TokenWork work;
  MachineLimits limits;

  /// Bytes of weights a second, of tokens one by one; operations a second, of prompts.
  double rate(const Measurement& m) const {
    return m.median() * (m.decodes ? work.bytes : work.operations);
  }
  double limit(const Measurement& m) const {
    return m.decodes ? limits.bytes_per_s : limits.operations_per_s;
  }
};

std::string Json(const Report& report) {
  boost::json::array all;
  for (const Measurement& m : report.tests) {
    boost::json::object row = {{"test", m.test},
                               {"tokens_per_s", Rounded(m.median())},
                               {"min", Rounded(m.least())},
                               {"max", Rounded(m.most())},
                               {"rounds", m.seconds.size()},
                               {"threads", report.n_threads},
                               {"model", report.model},
                               {"load_s", Rounded(report.load_seconds)},
                               {"peak_bytes", report.peak_bytes},
                               {"read_bandwidth_bytes_per_s", Rounded(report.limits.bytes_per_s)},
                               {"peak_ops_per_s", Rounded(report.limits.operations_per_s)}};
    if (report.rate(m) > 0) {
      row[m.decodes ? "weights_bytes_per_s" : "products_ops_per_s"] = Rounded(report.rate(m));
    }
    all.push_back(std::move(row));
  }
  return boost::json::serialize(all) + "\n";
}

const char* NameOf(kernels::Precision precision) {
  switch (precision) {
    case kernels::Precision::kInt8:
      return "int8";
    case kernels::Precision::kInt16:
      return "int16";
    case kernels::Precision::kBf16:
      return "bf16";
    case kernels::Precision::kF32:
      break;
  }
  return "f32";
}

std::string Table(const Report& report) {
  std::string out = "test               tokens/s        min        max   of the limit\n";
  char line[160];
  for (const Measurement& m : report.tests) {
    std::snprintf(line, sizeof(line), "%-14s %12.2f %10.2f %10.2f", m.test.c_str(), m.median(),
                  m.least(), m.most());
    out += line;
    if (report.rate(m) > 0 && report.limit(m) > 0) {
      std::snprintf(line, sizeof(line), "   %6.1f %s = %.0f %%", report.rate(m) / 1e9,
                    m.decodes ? "GB/s" : "GOP/s", 100 * report.rate(m) / report.limit(m));
      out += line;
    }
    out += "\n";
  }
  std::snprintf(line, sizeof(line),
                "%s, %zu threads, load %.0f ms, peak memory %.0f MB; this machine reads %.1f GB/s",
                report.model.c_str(), report.n_threads, report.load_seconds * 1e3,
                static_cast<double>(report.peak_bytes) / 1e6, report.limits.bytes_per_s / 1e9);
  out += line;
  if (report.limits.operations_per_s > 0) {
    std::snprintf(line, sizeof(line), " and reaches %.0f GOP/s in %s",
                  report.limits.operations_per_s / 1e9, NameOf(report.work.precision));
    out += line;
  }
  return out + "\n";
}

std::size_t Longest(const std::vector<std::size_t>& lengths) {
  return lengths.empty() ? 0 : *std::ranges::max_element(lengths);
}

}  // namespace

Status BenchGeneration(const GenerationBenchArguments& arguments, const AppContext& context) {
  TextModelFlags flags = arguments.model;
  const std::size_t deepest = Longest(arguments.depths);
  const std::size_t longest = std::max(Longest(arguments.prompts), Longest(arguments.generated));
  flags.context = deepest + longest;
  const std::unique_ptr<ThreadPool> pool = MakePool(flags.threads);
  LATTICE_TRY(const auto backend, MakeBackend(*pool, context));
  const auto start = Clock::now();
  LATTICE_TRY(const FoundTextModel found, FindTextModel(flags, context));
  LATTICE_TRY(const auto model, models::LoadModel(*found.files, *backend, found.options));
  const std::chrono::duration<double> load = Clock::now() - start;
  // The base and the fork that goes on from it, each with a last page of its own.
  const std::size_t capacity = flags.context + 4 * kernels::kPageTokens;
  LATTICE_TRY(const auto store, models::SequenceStore::Make(model->state_shape(), *backend,
                                                            {found.use.kv_type, capacity}));
  Report report;
  report.model = found.files->path().filename().string();
  report.n_threads = pool->n_threads();
  report.load_seconds = load.count();
  report.work = WorkOf(*found.files->checkpoint(), found.options);
  Runner runner(*model, *backend);
  DepthBench bench(arguments, runner, context.stop);
  for (const std::size_t depth : arguments.depths) {
    LATTICE_TRY_VOID(bench.Run(depth, *store, report.tests));
  }
  report.peak_bytes = PeakBytes();  // before the buffer of the next line
  LATTICE_TRY(report.limits, MeasureLimits(*pool, report.work.precision, context));
  return Print(arguments.json ? Json(report) : Table(report));
}

}  // namespace lattice::apps
