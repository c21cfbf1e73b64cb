#pragma once

#include <filesystem>
#include <memory>

#include "apps/command.h"
#include "apps/generation_flags.h"
#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "engine/context_cache.h"
#include "engine/generator.h"
#include "engine/text_model.h"
#include "kernels/api/backend.h"
#include "models/model_files.h"
#include "models/model_plan.h"

namespace lattice::apps {

/// The threads and the kernels that the flags ask for.
std::unique_ptr<ThreadPool> MakePool(std::size_t n_threads);
Result<CpuFeatures> ChosenFeatures(const AppContext& context);
Result<std::unique_ptr<kernels::Backend>> MakeBackend(ThreadPool& pool, const AppContext& context);

/// A generator that has been found on this machine, or fetched, but not loaded.
struct FoundTextModel {
  std::shared_ptr<const models::ModelFiles> files;
  models::ModelPlan plan;
  models::ModelUse use;  ///< With the context that the flags ask for, or the longest that fits.
  models::LoadOptions options;
};

/// Where packed weights are kept.
std::filesystem::path WeightCacheFolder(const AppContext& context);

/// kResourceExhausted, with the plan in numbers, when it cannot fit in this machine's memory;
/// kInvalidArgument for a context longer than the model reads.
Result<FoundTextModel> FindTextModel(const TextModelFlags& flags, const AppContext& context);

Result<std::unique_ptr<engine::TextModel>> LoadFound(const FoundTextModel& found,
                                                     kernels::Backend& backend,
                                                     const AppContext& context);
/// Finds and loads.
Result<std::unique_ptr<engine::TextModel>> OpenTextModel(const TextModelFlags& flags,
                                                         const AppContext& context,
                                                         kernels::Backend& backend);

/// A generator with memory for one conversation, ready to answer; the members are in the order in
/// which they need each other.
struct TextEngine {
  std::shared_ptr<const models::ModelFiles> files;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<engine::TextModel> model;
  std::unique_ptr<engine::ContextCache> context;
  std::unique_ptr<engine::Generator> generator;
};
Result<TextEngine> OpenTextEngine(const TextModelFlags& flags, const AppContext& context);

}  // namespace lattice::apps
