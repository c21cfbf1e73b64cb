#include "embed/service.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace lattice {

Result<std::vector<float>> EmbeddingService::EmbedOne(std::string_view text,
                                                      std::string_view model) {
  EmbedRequest request;
  request.model = model;
  const std::string copy(text);
  LATTICE_TRY(Embeddings embeddings, Embed(std::span(&copy, 1), request));
  return std::move(embeddings.values);
}

namespace embed {
namespace {

using ModelPtr = std::shared_ptr<EmbeddingModel>;

class NativeService final : public EmbeddingService {
 public:
  NativeService(const Engine& engine, ModelResolver resolver, std::string default_model)
      : engine_(engine), resolver_(std::move(resolver)), default_model_(std::move(default_model)) {}

  Result<Embeddings> Embed(std::span<const std::string> texts,
                           const EmbedRequest& request) override {
    LATTICE_TRY(const ModelPtr model, Find(request.model));
    return model->Embed(texts, request);
  }

  Result<EmbeddingModelInfo> Describe(std::string_view name) override {
    LATTICE_TRY(const ModelPtr model, Find(name));
    return model->info();
  }

  Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                          const RerankRequest& request) override {
    LATTICE_TRY(const ModelPtr model, Find(request.model));
    return model->Rerank(documents, request);
  }

  bool Unload(std::string_view asked) override;

 private:
  // A name that was asked for. `model` is guarded by the service's lock, so that looking never
  // waits for a load.
  struct Slot {
    std::mutex loading;
    ModelPtr model;
  };
  using SlotPtr = std::shared_ptr<Slot>;

  std::string NameOf(std::string_view name) const {
    return std::string(name.empty() ? std::string_view(default_model_) : name);
  }
  Result<ModelPtr> Find(std::string_view asked);
  Result<ModelPtr> LoadInto(const SlotPtr& slot, const std::string& name);
  void Forget(const std::string& name, const SlotPtr& slot);

  const Engine engine_;
  const ModelResolver resolver_;
  const std::string default_model_;
  std::mutex mutex_;
  std::map<std::string, SlotPtr, std::less<>> slots_;
};

Result<ModelPtr> NativeService::Find(std::string_view asked) {
  const std::string name = NameOf(asked);
  SlotPtr slot;
  {
    const std::scoped_lock lock(mutex_);
    SlotPtr& entry = slots_[name];
    if (entry == nullptr) entry = std::make_shared<Slot>();
    if (entry->model != nullptr) return entry->model;
    slot = entry;
  }
  const std::scoped_lock loading(slot->loading);
  {
    const std::scoped_lock lock(mutex_);
    if (slot->model != nullptr) return slot->model;  // Another call has loaded it meanwhile.
  }
  auto model = LoadInto(slot, name);
  if (!model) Forget(name, slot);
  return model;
}

// Two names of one folder share the model.
Result<ModelPtr> NativeService::LoadInto(const SlotPtr& slot, const std::string& name) {
  LATTICE_TRY(const ModelSource source, resolver_(name));
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [other_name, other] : slots_) {
      if (other->model == nullptr || other->model->info().folder != source.folder) continue;
      slot->model = other->model;
      slots_.try_emplace(name, slot);
      return slot->model;
    }
  }
  LATTICE_TRY(ModelPtr model, EmbeddingModel::Load(source, engine_));
  const std::scoped_lock lock(mutex_);
  slot->model = std::move(model);
  slots_.try_emplace(name, slot);  // A failure of an earlier call may have removed it.
  return slot->model;
}

// Names that led to nothing are not kept: there is no end of them.
void NativeService::Forget(const std::string& name, const SlotPtr& slot) {
  const std::scoped_lock lock(mutex_);
  const auto found = slots_.find(name);
  if (found != slots_.end() && found->second == slot && slot->model == nullptr) slots_.erase(found);
}

bool NativeService::Unload(std::string_view asked) {
  std::vector<SlotPtr> removed;  // Destroyed after the lock: freeing weights takes time.
  const std::scoped_lock lock(mutex_);
  const auto found = slots_.find(NameOf(asked));
  if (found == slots_.end() || found->second->model == nullptr) return false;
  const ModelPtr model = found->second->model;
  for (auto at = slots_.begin(); at != slots_.end();) {
    if (at->second->model != model) {
      ++at;
      continue;
    }
    removed.push_back(std::move(at->second));
    at = slots_.erase(at);
  }
  return true;
}

}  // namespace

std::unique_ptr<EmbeddingService> MakeNativeService(const Engine& engine, ModelResolver resolver,
                                                    std::string default_model) {
  return std::make_unique<NativeService>(engine, std::move(resolver), std::move(default_model));
}

}  // namespace embed
}  // namespace lattice
