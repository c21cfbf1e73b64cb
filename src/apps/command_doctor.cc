#include "apps/command_doctor.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/available_memory.h"
#include "apps/embedding_flags.h"
#include "apps/generation_flags.h"
#include "apps/model_json.h"
#include "apps/number_flags.h"
#include "apps/peak_memory.h"
#include "apps/progress_bar.h"
#include "apps/text_engine.h"
#include "base/cpu_features.h"
#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "hub/hub.h"
#include "models/config.h"
#include "models/model_files.h"
#include "models/model_plan.h"
#include "models/packed_weights.h"
#include "models/weight_cache.h"

namespace lattice::apps {
namespace {

struct Arguments {
  EmbeddingFlags embedding;
  std::size_t context = 0;
  std::string kv_type = "f16";
  std::string weights;
  bool json = false;
};

std::uint64_t MemoryBytes(int pages) {
  const long n = sysconf(pages);
  return n < 0 ? 0
               : static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Result<boost::json::object> Machine(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const CpuFeatures features, ChosenFeatures(context));
  const std::unique_ptr<ThreadPool> pool = MakePool(arguments.embedding.threads);
  LATTICE_TRY(const auto backend, MakeBackend(*pool, context));
  boost::json::object report;
  report["version"] = LATTICE_VERSION;
  report["processor"] = features.ToString();
  report["backend"] = backend->Describe();
  report["threads"] = pool->n_threads();
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

/// What earlier starts left of the model, looked at byte by byte.
Result<boost::json::object> PackedWeights(const models::ModelFiles& files,
                                          std::optional<Dtype> weights, const AppContext& context) {
  const std::filesystem::path folder = WeightCacheFolder(context);
  ThreadPool pool(1);
  LATTICE_TRY(const auto backend, MakeBackend(pool, context));
  const models::PackedPlace place =
      models::PlaceOfPacked(models::SourceOf(files, *backend, {.weights = weights}), folder);
  boost::json::object report = {{"kept", context.environment.keep_packed},
                                {"folder", folder.string()},
                                {"folder_bytes", models::WeightCache(folder).SizeBytes()}};
  if (place.file.empty()) {
    report["state"] = "not needed: float weights are computed with where they lie";
    return report;
  }
  report["file"] = place.file.filename().string();
  const auto mapped = MappedFile::Open(place.file);
  if (!mapped) {
    report["state"] = "made by the next start";
    return report;
  }
  report["file_bytes"] = mapped->bytes().size();
  const Status whole = models::CheckWeightFile(mapped->bytes());
  report["state"] = whole ? "whole" : "damaged, remove it: " + whole.error().message;
  return report;
}

/// The memory that a generator will take, by its files' headers alone.
Result<boost::json::object> Plan(const Arguments& arguments, const AppContext& context,
                                 const models::ModelFiles& files) {
  LATTICE_TRY(const auto weights, ParseWeightType(arguments.weights));
  const models::ModelPlan plan = models::PlanOf(files, weights);
  models::ModelUse use;
  LATTICE_TRY(use.kv_type, ParseKvType(arguments.kv_type));
  use.n_tokens = arguments.context != 0 ? arguments.context : plan.info.max_tokens;
  const std::size_t available = AvailableMemory();
  const Status fits = plan.CheckFits(use, available);
  boost::json::object report = ModelInfoJson(plan.info);
  report["context"] = use.n_tokens;
  report["weights_bytes"] = plan.weights_bytes;
  report["kv_bytes"] = plan.KvBytes(use);
  report["state_bytes"] = plan.StateBytes(use);
  report["scratch_bytes"] = plan.ScratchBytes(use);
  report["total_bytes"] = plan.TotalBytes(use);
  report["available_bytes"] = available;
  report["fits"] = fits.has_value();
  const std::vector<std::string> unread = models::UnreadParts(files.config());
  if (!unread.empty()) report["not_used"] = boost::json::value_from(unread);
  if (!fits) report["why_not"] = fits.error().message;
  LATTICE_TRY(report["packed_weights"], PackedWeights(files, weights, context));
  return report;
}

/// Null for what embeds: a sentence-transformers folder, or a model without a language head.
Result<std::shared_ptr<const models::ModelFiles>> GeneratorFiles(
    const std::filesystem::path& path) {
  std::shared_ptr<const models::ModelFiles> files;
  std::error_code ignored;
  if (std::filesystem::exists(path / "modules.json", ignored)) return files;
  LATTICE_TRY(files, models::ModelFiles::Open(path));
  if (!files->description().info.has_lm_head) files = nullptr;
  return files;
}

Result<boost::json::object> Describe(const Arguments& arguments, const AppContext& context) {
  LATTICE_TRY(const hub::ResolvedModel found,
              hub::Resolve(arguments.embedding.model, context.Hub()));
  LATTICE_TRY(const auto files, GeneratorFiles(found.path));
  if (files == nullptr) return Measure(arguments, context);
  return Plan(arguments, context, *files);
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
    } else if (value.is_double()) {
      char number[40];
      std::snprintf(number, sizeof(number), "%.3f", value.get_double());
      out += number;
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
    LATTICE_TRY(report["model"], Describe(arguments, context));
  }
  return Print(arguments.json ? boost::json::serialize(report) + "\n" : Lines(report, ""));
}

}  // namespace

Action DeclareDoctor(CLI::App& arguments, const AppContext& context) {
  const auto parsed = std::make_shared<Arguments>();
  DeclareEmbeddingFlags(arguments, parsed->embedding);
  arguments.get_option("--model")->description(
      "Say what this model is and takes: an embedding model is loaded, a generator is not");
  AddCount(arguments, "-c,--context", parsed->context, "Of a generator (all that it reads)", {1});
  DeclareKvType(arguments, parsed->kv_type);
  DeclareWeightType(arguments, parsed->weights);
  arguments.add_flag("--json", parsed->json, "Print JSON");
  arguments.footer(
      "\nExamples:\n  lattice doctor --model all-minilm-l6-v2\n"
      "  lattice doctor --model smollm2-135m-instruct --context 4096");
  return [parsed, &context] { return Examine(*parsed, context); };
}

}  // namespace lattice::apps
