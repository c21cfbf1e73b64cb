#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>

#include "embed/cache_key.h"
#include "embed/cache_shard.h"
#include "lattice/embedding.h"

namespace lattice {
namespace {

using embed::CachedVector;
using embed::CachedVectorPtr;
using embed::CacheKey;
using embed::CacheKeyHash;
using embed::CacheKeyMaker;
using embed::CacheShard;
using embed::PendingVectorPtr;

// One distinct text of a call.
struct Wanted {
  CacheKey key;
  std::size_t text;  // the first place where it stands
  CachedVectorPtr vector;
  PendingVectorPtr pending;
  bool mine = false;  // this call computes it, and must Finish it
};

class ShardedCache final : public CachedEmbeddingService {
 public:
  ShardedCache(std::unique_ptr<EmbeddingService> service, const EmbeddingCacheOptions& options)
      : service_(std::move(service)) {
    const std::size_t n_shards = std::clamp<std::size_t>(options.n_shards, 1, 256);
    shards_.reserve(n_shards);
    for (std::size_t i = 0; i < n_shards; ++i) {
      shards_.push_back(std::make_unique<CacheShard>(options.budget_bytes / n_shards));
    }
  }

  Result<Embeddings> Embed(std::span<const std::string> texts,
                           const EmbedRequest& request) override;

  Result<EmbeddingModelInfo> Describe(std::string_view model) override {
    return service_->Describe(model);
  }
  Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                          const RerankRequest& request) override {
    return service_->Rerank(documents, request);
  }
  bool Unload(std::string_view model) override { return service_->Unload(model); }

  EmbeddingCacheStats stats() const override {
    EmbeddingCacheStats stats;
    stats.hits = hits_.load();
    stats.misses = misses_.load();
    stats.coalesced = coalesced_.load();
    for (const auto& shard : shards_) shard->AddTo(stats);
    return stats;
  }
  void Clear() override {
    for (const auto& shard : shards_) shard->Clear();
  }

 private:
  CacheShard& ShardOf(const CacheKey& key) {
    return *shards_[std::to_integer<std::size_t>(key.digest[0]) % shards_.size()];
  }
  void FindAll(std::vector<Wanted>& wanted);
  Status ComputeMine(std::span<const std::string> texts, const EmbedRequest& request,
                     std::vector<Wanted>& wanted);
  Status WaitForOthers(const EmbedRequest& request, std::vector<Wanted>& wanted);
  void GiveUp(std::vector<Wanted>& wanted);

  std::unique_ptr<EmbeddingService> service_;
  std::vector<std::unique_ptr<CacheShard>> shards_;
  std::atomic<std::uint64_t> hits_{0}, misses_{0}, coalesced_{0};
};

bool AllThere(const std::vector<Wanted>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [](const Wanted& w) { return w.vector != nullptr; });
}

// Looks each missing vector up; takes over those that nobody computes.
void ShardedCache::FindAll(std::vector<Wanted>& wanted) {
  for (Wanted& w : wanted) {
    if (w.vector != nullptr) continue;
    CacheShard::Lookup found = ShardOf(w.key).Find(w.key);
    w.vector = std::move(found.hit);
    w.mine = found.mine != nullptr;
    w.pending = w.mine ? std::move(found.mine) : std::move(found.other);
    if (w.vector != nullptr) ++hits_;
  }
}

// Lets those who wait for this call know that it will not deliver: they compute by themselves.
void ShardedCache::GiveUp(std::vector<Wanted>& wanted) {
  for (Wanted& w : wanted) {
    if (w.mine) ShardOf(w.key).Finish(w.key, w.pending, nullptr);
    w.mine = false;
  }
}

Status ShardedCache::ComputeMine(std::span<const std::string> texts, const EmbedRequest& request,
                                 std::vector<Wanted>& wanted) {
  std::vector<Wanted*> mine;
  for (Wanted& w : wanted) {
    if (w.mine) mine.push_back(&w);
  }
  if (mine.empty()) return Ok();
  std::vector<std::string> copies;
  std::span<const std::string> missing = texts;
  if (mine.size() != texts.size()) {
    copies.reserve(mine.size());
    for (const Wanted* w : mine) copies.push_back(texts[w->text]);
    missing = copies;
  }
  EmbedRequest inner = request;
  if (request.progress) {
    const std::size_t before = texts.size() - missing.size();
    inner.progress = [&request, before](std::size_t done, std::size_t total) {
      request.progress(before + done, before + total);
    };
  }
  auto computed = service_->Embed(missing, inner);
  if (!computed) {
    GiveUp(wanted);
    return std::move(computed).error();
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto values = (*computed)[i];
    Wanted& w = *mine[i];
    w.vector = std::make_shared<const CachedVector>(
        CachedVector{{values.begin(), values.end()}, computed->usage[i]});
    ShardOf(w.key).Finish(w.key, w.pending, w.vector);
    w.mine = false;
    ++misses_;
  }
  return Ok();
}

Status ShardedCache::WaitForOthers(const EmbedRequest& request, std::vector<Wanted>& wanted) {
  for (Wanted& w : wanted) {
    if (w.vector != nullptr) continue;
    const auto settled = w.pending->Wait(request.stop);
    if (!settled) return Error{ErrorCode::kCancelled, "embedding was cancelled"};
    w.vector = *settled;
    if (w.vector != nullptr) ++coalesced_;
  }
  return Ok();
}

Result<Embeddings> ShardedCache::Embed(std::span<const std::string> texts,
                                       const EmbedRequest& request) {
  if (texts.empty()) return service_->Embed(texts, request);
  // Every call asks for the model: its revision is part of the keys, so a model that was replaced
  // on disk and loaded anew is not served old vectors.
  LATTICE_TRY(const EmbeddingModelInfo model, service_->Describe(request.model));
  const CacheKeyMaker keys(model, request);
  std::vector<Wanted> wanted;
  std::vector<std::size_t> place(texts.size());  // of each text in `wanted`
  std::unordered_map<CacheKey, std::size_t, CacheKeyHash> seen;
  seen.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const CacheKey key = keys.Make(texts[i]);
    const auto [at, is_new] = seen.emplace(key, wanted.size());
    place[i] = at->second;
    if (is_new) wanted.push_back(Wanted{key, i, nullptr, nullptr, false});
  }
  while (!AllThere(wanted)) {
    Status computed = Ok();
    try {
      FindAll(wanted);
      computed = ComputeMine(texts, request, wanted);
    } catch (...) {  // Memory, or the caller's progress function: nobody may wait for ever.
      GiveUp(wanted);
      throw;
    }
    if (!computed) {
      // A message may number the texts of the smaller list: let the service see the caller's own.
      if (computed.error().code == ErrorCode::kCancelled) return std::move(computed).error();
      return service_->Embed(texts, request);
    }
    LATTICE_TRY_VOID(WaitForOthers(request, wanted));
  }
  coalesced_ += texts.size() - wanted.size();
  Embeddings result;
  result.dimensions = wanted[0].vector->values.size();
  result.values.reserve(texts.size() * result.dimensions);
  result.usage.reserve(texts.size());
  for (const std::size_t at : place) {
    const CachedVector& vector = *wanted[at].vector;
    result.values.insert(result.values.end(), vector.values.begin(), vector.values.end());
    result.usage.push_back(vector.usage);
  }
  return result;
}

}  // namespace

std::unique_ptr<CachedEmbeddingService> MakeCachedEmbeddingService(
    std::unique_ptr<EmbeddingService> service, EmbeddingCacheOptions options) {
  return std::make_unique<ShardedCache>(std::move(service), options);
}

}  // namespace lattice
