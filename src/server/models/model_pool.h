#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "server/http/api_error.h"
#include "server/models/loaded_model.h"

namespace lattice::server {

struct ModelPoolOptions {
  std::chrono::milliseconds keep_alive{0};  ///< Unused for so long, a model is unloaded; 0: never.
  /// After a failed load the next one is not tried before; twice as long each time, up to the
  /// second.
  std::chrono::milliseconds first_pause{5'000}, longest_pause{60'000};
  LogSink log = {};
};

/// What is to be said of a model.
struct ModelState {
  enum class Phase { kUnloaded, kLoading, kLoaded };
  std::string id;
  std::vector<std::string> aliases;
  ModelKind kind = ModelKind::kText;
  std::int64_t created = 0;
  Phase phase = Phase::kUnloaded;
  std::optional<std::size_t> max_tokens;  ///< Absent before it was loaded for the first time.
  std::optional<std::string> failure;     ///< Why the last load failed.
  std::uint64_t n_loads = 0;              ///< That succeeded.
  std::optional<engine::SchedulerMetrics> engine;  ///< Of generators; totals of all its loads.
};

/// The models of a server: loads them when they are asked for, lends them to requests, lets them go
/// when nobody has used them for a while. A model that is lent stays. Thread-safe; nothing here
/// waits for a load but Start.
class ModelPool {
 public:
  ModelPool(std::vector<NamedModel> models, ModelPoolOptions options);
  /// Stop().
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  /// Begins to load what is asked for. `load_all`: loads all models first, and fails with the first
  /// that cannot be loaded.
  Status Start(bool load_all);

  /// The model of that name and kind; without a name, the first of the kind. One that is not there
  /// yet begins to be loaded, and 503 says when to ask again; 503 with the reason after a failed
  /// load, until the next is tried; 404 for a name that is not known.
  ApiResult<TextModelPtr> Text(const std::optional<std::string>& name);
  ApiResult<EmbedderPtr> Embedder(const std::optional<std::string>& name);
  ApiResult<EmbedderPtr> Reranker(const std::optional<std::string>& name);

  bool Has(ModelKind kind) const;
  /// Of the model of that name; without one, of the first embedding model, ranking one or generator
  /// that there is.
  ModelKind KindOf(const std::optional<std::string>& name) const;
  /// 404, with the names that are known.
  ApiError Unknown() const;
  std::vector<ModelState> States() const;
  std::optional<ModelState> State(std::string_view name) const;

  /// Begins to load it, also right after a failure.
  std::optional<ApiError> Load(std::string_view name);
  /// Lets it go once nobody uses it.
  std::optional<ApiError> Unload(std::string_view name);

  /// Ends everything that models still do, waits until nobody uses them, and frees them. What is
  /// asked for later gets 503.
  void Stop();

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace lattice::server
