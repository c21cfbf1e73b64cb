#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/generation_flags.h"
#include "apps/text_engine.h"
#include "engine/scheduler.h"
#include "lattice/embedding.h"
#include "server/openai/service.h"

namespace lattice::apps {

struct ServeFlags {
  std::vector<std::string> models;
  std::vector<std::string> embedding_models;
  TextModelFlags loading;  ///< For all generators; `model` is not looked at.
  std::size_t parallel = 8;
};

/// Everything that a server computes with; the members are in the order in which they need each
/// other. Not to be moved once `served` is in use.
struct OpenedModels {
  struct Text {
    std::shared_ptr<const models::ModelFiles> files;
    std::unique_ptr<engine::TextModel> model;
    std::unique_ptr<engine::Scheduler> scheduler;
  };
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<kernels::Backend> backend;
  std::vector<Text> texts;
  std::unique_ptr<EmbeddingService> embeddings;
  server::ServedModels served;
};

/// Finds, loads and starts all models. Errors name the model.
Result<OpenedModels> OpenModels(const ServeFlags& flags, const AppContext& context);

}  // namespace lattice::apps
