#include "embed/cache_shard.h"

#include <utility>

namespace lattice::embed {
namespace {

// What the heap takes for a block: size rounded up to 16, and a word in front.
std::size_t HeapBytes(std::size_t size) { return (size + 8 + 15) / 16 * 16; }

}  // namespace

void PendingVector::Settle(CachedVectorPtr vector) {
  {
    const std::scoped_lock lock(mutex_);
    vector_ = std::move(vector);
    done_ = true;
  }
  settled_.notify_all();
}

std::optional<CachedVectorPtr> PendingVector::Wait(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!settled_.wait(lock, std::move(stop), [&] { return done_; })) return std::nullopt;
  return vector_;
}

CacheShard::Lookup CacheShard::Find(const CacheKey& key) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return {.hit = found->second->vector, .other = nullptr, .mine = nullptr};
  }
  PendingVectorPtr& pending = pending_[key];
  if (pending != nullptr) return {.hit = nullptr, .other = pending, .mine = nullptr};
  pending = std::make_shared<PendingVector>();
  return {.hit = nullptr, .other = nullptr, .mine = pending};
}

void CacheShard::Finish(const CacheKey& key, const PendingVectorPtr& mine, CachedVectorPtr vector) {
  {
    const std::scoped_lock lock(mutex_);
    const auto pending = pending_.find(key);
    if (pending != pending_.end() && pending->second == mine) pending_.erase(pending);
    if (vector != nullptr) Insert(key, vector);
  }
  mine->Settle(std::move(vector));
}

void CacheShard::Insert(const CacheKey& key, CachedVectorPtr vector) {
  // The list's node, the index's node (with its hash) and bucket, the shared vector with its two
  // counts, and the values.
  const std::size_t n_bytes = HeapBytes(sizeof(Entry) + 2 * sizeof(void*)) +
                              HeapBytes(sizeof(CacheKey) + 3 * sizeof(void*)) + sizeof(void*) +
                              HeapBytes(sizeof(CachedVector) + 2 * sizeof(void*)) +
                              HeapBytes(vector->values.capacity() * sizeof(float));
  if (n_bytes > budget_bytes_) return;
  while (bytes_ + n_bytes > budget_bytes_) {
    const Entry& oldest = entries_.back();
    bytes_ -= oldest.n_bytes;
    index_.erase(oldest.key);
    entries_.pop_back();
    ++evictions_;
  }
  entries_.push_front(Entry{key, std::move(vector), n_bytes});
  index_.emplace(key, entries_.begin());
  bytes_ += n_bytes;
}

void CacheShard::Clear() {
  const std::scoped_lock lock(mutex_);
  index_.clear();
  entries_.clear();
  bytes_ = 0;
}

void CacheShard::AddTo(EmbeddingCacheStats& stats) const {
  const std::scoped_lock lock(mutex_);
  stats.evictions += evictions_;
  stats.entries += entries_.size();
  stats.bytes += bytes_;
}

}  // namespace lattice::embed
