#include "apps/command_doctor.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "apps/embedding_flags.h"
#include "apps/peak_memory.h"
#include "apps/progress_bar.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "hub/hub.h"
#include "kernels/cpu/cpu_backend.h"

namespace lattice::apps {
namespace {

struct Arguments {
  EmbeddingFlags embedding;
  bool json = false;
};

std::uint64_t MemoryBytes(int pages) {
  const long n = sysconf(pages);
  return n < 0 ? 0
               : static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<boost::json::object> Machine(const Arguments& arguments, const AppContext& context) {
  CpuFeatures features = CpuFeatures::Detect();
  if (!context.instruction_set.empty()) {
    LATTICE_TRY(features, CpuFeatures::Named(context.instruction_set));
  }
  ThreadPool pool(arguments.embedding.threads != 0 ? arguments.embedding.threads
                                                   : ThreadPool::DefaultThreads());
  boost::json::object report;
  report["version"] = LATTICE_VERSION;
  report["processor"] = features.ToString();
  report["backend"] = kernels::MakeCpuBackend(pool, features)->Describe();
  report["threads"] = pool.n_threads();
  report["memory_bytes"] = MemoryBytes(_SC_PHYS_PAGES);
  report["memory_available_bytes"] = MemoryBytes(_SC_AVPHYS_PAGES);
  const hub::ModelCache cache(context.environment.model_cache);
  report["model_cache"] = cache.root().string();
  LATTICE_TRY(const auto models, cache.List());
  boost::json::array names;
  for (const hub::CachedModel& model : models) names.push_back(boost::json::string(model.hub_id));
  report["models"] = std::move(names);
  report["offline"] = context.environment.offline;
  return report;
}

/// Loads the model, so that the figures are what it takes, not what it should take.
Result<boost::json::object> Measure(const Arguments& arguments, const AppContext& context) {
  const std::uint64_t before = PeakBytes();
  const auto start = std::chrono::steady_clock::now();
  LATTICE_TRY(const auto service, OpenService(arguments.embedding, context));
  LATTICE_TRY(const EmbeddingModelInfo model, service->Describe(arguments.embedding.model));
  const std::chrono::duration<double> load = std::chrono::steady_clock::now() - start;
  boost::json::object report;
  report["name"] = model.name;
  report["folder"] = model.folder.string();
  report["revision"] = model.revision;
  report["architecture"] = model.architecture;
  report["parameters"] = model.n_parameters;
  report["dimensions"] = model.dimensions;
  report["max_tokens"] = model.max_tokens;
  report["pooling"] = PoolingName(model.pooling);
  report["normalize"] = model.normalize;
  report["query_prompt"] = model.query_prompt;
  report["passage_prompt"] = model.passage_prompt;
  report["precision"] = arguments.embedding.precision;
  report["load_seconds"] = load.count();
  report["memory_bytes"] = PeakBytes() - before;
  return report;
}

std::string Lines(const boost::json::object& report, const std::string& indent) {
  std::string out;
  for (const auto& [key, value] : report) {
    out += indent + std::string(key) + ": ";
    if (value.is_object()) {
      out += "\n" + Lines(value.get_object(), indent + "  ");
      continue;
    }
    if (key.ends_with("_bytes") && value.is_number()) {
      out += ByteText(value.to_number<std::uint64_t>());
    } else {
      out += value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
    }
    out += "\n";
  }
  return out;
}

Status Examine(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(boost::json::object report, Machine(arguments, context));
  if (!arguments.embedding.model.empty()) {
    LATTICE_TRY(report["model"], Measure(arguments, context));
  }
  return Print(arguments.json ? boost::json::serialize(report) + "\n" : Lines(report, ""));
}

}  // namespace

Action DeclareDoctor(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments.get_option("--model")->description("Load this model too, and say what it is and takes");
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer("\nExample:\n  lattice doctor --model all-minilm-l6-v2");
  return [parsed, &context] { return Examine(*parsed, context); };
}

}  // namespace lattice::apps
