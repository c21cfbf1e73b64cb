#include <memory>
#include <string>
#include <utility>

#include "base/cpu_features.h"
#include "base/thread_pool.h"
#include "embed/service.h"
#include "hub/hub.h"
#include "kernels/cpu/cpu_backend.h"
#include "lattice/embedding.h"
#include "lattice/version.h"

namespace lattice {
namespace {

kernels::Precision PrecisionOf(ComputePrecision precision) {
  switch (precision) {
    case ComputePrecision::kBf16:
      return kernels::Precision::kBf16;
    case ComputePrecision::kInt8:
      return kernels::Precision::kInt8;
    case ComputePrecision::kF32:
      break;
  }
  return kernels::Precision::kF32;
}

hub::HubOptions HubOptionsOf(EmbeddingServiceOptions& options) {
  hub::HubOptions hub;
  hub.cache = std::move(options.model_cache);
  hub.endpoint = std::move(options.hub_endpoint);
  hub.token = std::move(options.hub_token);
  hub.offline = options.offline;
  hub.stop = std::move(options.stop);
  if (options.log) {
    hub.log = [log = std::move(options.log)](LogLevel level, std::string_view message) {
      if (level != LogLevel::kDebug) log(message);
    };
  }
  hub.progress = std::move(options.progress);
  return hub;
}

// The native service together with what it computes on.
class OwningService final : public EmbeddingService {
 public:
  OwningService(std::size_t n_threads, CpuFeatures features, EmbeddingServiceOptions options)
      : pool_(n_threads), backend_(kernels::MakeCpuBackend(pool_, features)) {
    embed::Engine engine;
    engine.backend = backend_.get();
    engine.pool = &pool_;
    engine.precision = PrecisionOf(options.precision);
    engine.max_batch_tokens = options.max_batch_tokens;
    hub::HubOptions found = HubOptionsOf(options);
    engine.log = found.log;
    auto resolver = [hub = std::move(found)](std::string_view name) -> Result<embed::ModelSource> {
      LATTICE_TRY(hub::ResolvedModel model, hub::Resolve(name, hub));
      return embed::ModelSource{std::move(model.name), std::move(model.path),
                                std::move(model.hub_id), std::move(model.revision)};
    };
    service_ = embed::MakeNativeService(engine, std::move(resolver),
                                        std::string(hub::kDefaultEmbeddingModel));
  }

  Result<Embeddings> Embed(std::span<const std::string> texts,
                           const EmbedRequest& request) override {
    return service_->Embed(texts, request);
  }
  Result<EmbeddingModelInfo> Describe(std::string_view model) override {
    return service_->Describe(model);
  }
  Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                          const RerankRequest& request) override {
    return service_->Rerank(documents, request);
  }
  bool Unload(std::string_view model) override { return service_->Unload(model); }

 private:
  ThreadPool pool_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<EmbeddingService> service_;
};

}  // namespace

const char* Version() { return LATTICE_VERSION; }

Result<std::unique_ptr<EmbeddingService>> MakeEmbeddingService(EmbeddingServiceOptions options) {
  constexpr std::size_t kMaxThreads = 1024;
  if (options.n_threads > kMaxThreads) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(options.n_threads) +
                                                  " threads asked for, at most " +
                                                  std::to_string(kMaxThreads)};
  }
  CpuFeatures features;
  if (options.instruction_set.empty()) {
    features = CpuFeatures::Detect();
  } else {
    LATTICE_TRY(features, CpuFeatures::Named(options.instruction_set));
  }
  const std::size_t n_threads =
      options.n_threads == 0 ? ThreadPool::DefaultThreads() : options.n_threads;
  std::unique_ptr<EmbeddingService> service =
      std::make_unique<OwningService>(n_threads, features, std::move(options));
  return service;
}

}  // namespace lattice
