#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.h"
#include "apps/generation_flags.h"
#include "apps/text_engine.h"
#include "server/models/model_pool.h"

namespace lattice::apps {

struct ServeFlags {
  std::vector<std::string> models;
  std::vector<std::string> embedding_models;
  std::vector<std::string> rerank_models;
  TextModelFlags loading;  ///< For all generators; `model` is not looked at.
  std::size_t parallel = 8;
  bool lazy = false;         ///< Models are loaded when they are first asked for.
  std::string prompt_cache;  ///< A folder where read prompts outlive the run; empty: none.
  std::size_t prompt_cache_mib = 1024;  ///< Most that each model may keep there.
  std::size_t keep_alive_s = 0;  ///< Models that nobody uses for so long are unloaded; 0: never.
  std::size_t time_limit_s = 0;  ///< Most that an answer may take, with its waiting; 0: any time.
};

/// Everything that a server computes with; the members are in the order in which they need each
/// other.
struct OpenedModels {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<server::ModelPool> models;
};

/// Finds the models; loads all of them unless flags.lazy. Errors name the model. Both arguments
/// outlive what is opened.
Result<OpenedModels> OpenModels(const ServeFlags& flags, const AppContext& context);

/// What clients call the models, one after the other with a space in front.
std::string NamesOf(const server::ModelPool& models);

}  // namespace lattice::apps
