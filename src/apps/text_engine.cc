#include "apps/text_engine.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "apps/available_memory.h"
#include "hub/hub.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/packed_weights.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kLeastContext = 512;  // below it a shorter one is not tried unasked

/// The context that was asked for; else all that the model reads, halved until it fits.
Status ChooseContext(std::size_t asked, std::size_t available, FoundTextModel& found) {
  found.use.n_tokens = asked != 0 ? asked : found.plan.info.max_tokens;
  while (asked == 0 && found.use.n_tokens > kLeastContext &&
         found.plan.TotalBytes(found.use) > available) {
    found.use.n_tokens /= 2;
  }
  return found.plan.CheckFits(found.use, available);
}

/// It may take a minute, once.
void TellOfQuantising(const FoundTextModel& found, kernels::Backend& backend, const LogSink& log) {
  if (!found.options.weights || !log) return;
  std::error_code ignored;
  const auto place = models::PlaceOfPacked(models::SourceOf(*found.files, backend, found.options),
                                           found.options.weight_cache);
  if (std::filesystem::exists(place.file, ignored)) return;
  log(LogLevel::kInfo, "packing the weights as " + std::string(DtypeName(*found.options.weights)));
}

}  // namespace

std::unique_ptr<ThreadPool> MakePool(std::size_t n_threads) {
  return std::make_unique<ThreadPool>(n_threads != 0 ? n_threads : ThreadPool::DefaultThreads());
}

Result<CpuFeatures> ChosenFeatures(const AppContext& context) {
  if (context.instruction_set.empty()) return CpuFeatures::Detect();
  return CpuFeatures::Named(context.instruction_set);
}

Result<std::unique_ptr<kernels::Backend>> MakeBackend(ThreadPool& pool, const AppContext& context) {
  LATTICE_TRY(const CpuFeatures features, ChosenFeatures(context));
  return kernels::MakeCpuBackend(pool, features);
}

std::filesystem::path WeightCacheFolder(const AppContext& context) {
  return context.environment.model_cache / "packed";
}

Result<FoundTextModel> FindTextModel(const TextModelFlags& flags, const AppContext& context) {
  const std::string name = flags.model.empty() ? std::string(hub::kDefaultChatModel) : flags.model;
  LATTICE_TRY(const hub::ResolvedModel resolved, hub::Resolve(name, context.Hub()));
  LATTICE_TRY(auto files, models::ModelFiles::Open(resolved.path));
  LATTICE_TRY(const auto weights, ParseWeightType(flags.weights));
  FoundTextModel found{files, models::PlanOf(*files, weights), {}, {}};
  found.options.weights = weights;
  found.options.log = context.Log();
  LATTICE_TRY(found.options.precision, ParseComputePrecision(flags.precision));
  const bool keep =
      flags.weight_cache.empty() ? context.environment.keep_packed : flags.weight_cache == "auto";
  if (keep) found.options.weight_cache = WeightCacheFolder(context);
  LATTICE_TRY(found.use.kv_type, ParseKvType(flags.kv_type));
  auto chosen = ChooseContext(flags.context, AvailableMemory(), found);
  if (!chosen) return std::move(chosen).error().Within(name);
  return found;
}

Result<std::unique_ptr<engine::TextModel>> LoadFound(const FoundTextModel& found,
                                                     kernels::Backend& backend,
                                                     const AppContext& context) {
  TellOfQuantising(found, backend, context.Log());
  LATTICE_TRY(engine::TextModel model, engine::LoadTextModel(*found.files, backend, found.options));
  return std::make_unique<engine::TextModel>(std::move(model));
}

Result<std::unique_ptr<engine::TextModel>> OpenTextModel(const TextModelFlags& flags,
                                                         const AppContext& context,
                                                         kernels::Backend& backend) {
  LATTICE_TRY(const FoundTextModel found, FindTextModel(flags, context));
  return LoadFound(found, backend, context);
}

Result<TextEngine> OpenTextEngine(const TextModelFlags& flags, const AppContext& context) {
  TextEngine opened;
  opened.pool = MakePool(flags.threads);
  LATTICE_TRY(opened.backend, MakeBackend(*opened.pool, context));
  LATTICE_TRY(const FoundTextModel found, FindTextModel(flags, context));
  opened.files = found.files;
  LATTICE_TRY(opened.model, LoadFound(found, *opened.backend, context));
  LATTICE_TRY(engine::ContextCache cache,
              engine::ContextCache::Make(*opened.model->model, *opened.backend, found.use.kv_type,
                                         {.max_tokens = found.use.n_tokens}));
  opened.context = std::make_unique<engine::ContextCache>(std::move(cache));
  opened.generator = std::make_unique<engine::Generator>(*opened.model, *opened.backend);
  return opened;
}

}  // namespace lattice::apps
