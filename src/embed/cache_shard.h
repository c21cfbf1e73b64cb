#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "embed/cache_key.h"
#include "lattice/embedding.h"

namespace lattice::embed {

/// A remembered vector.
struct CachedVector {
  std::vector<float> values;
  TextUsage usage;
};
using CachedVectorPtr = std::shared_ptr<const CachedVector>;

/// A vector that some call is computing; others may wait for it.
class PendingVector {
 public:
  /// Null: the computation failed or was given up.
  void Settle(CachedVectorPtr vector);
  /// Waits for Settle. Nothing when `stop` was asked for first.
  std::optional<CachedVectorPtr> Wait(std::stop_token stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any settled_;
  bool done_ = false;
  CachedVectorPtr vector_;
};
using PendingVectorPtr = std::shared_ptr<PendingVector>;

/// One part of the cache with its own lock: finished vectors, least recently used last, and those
/// that are being computed.
class CacheShard {
 public:
  explicit CacheShard(std::size_t budget_bytes) : budget_bytes_(budget_bytes) {}

  /// Exactly one is set: the vector, the computation to wait for, or `mine`: the caller is now the
  /// one who computes it and must call Finish with that.
  struct Lookup {
    CachedVectorPtr hit;
    PendingVectorPtr other;
    PendingVectorPtr mine;
  };
  Lookup Find(const CacheKey& key);

  /// Ends a computation: keeps `vector` if it fits, and hands it to those who wait. Null: it
  /// failed.
  void Finish(const CacheKey& key, const PendingVectorPtr& mine, CachedVectorPtr vector);

  void Clear();
  /// Adds this shard's evictions, entries and bytes.
  void AddTo(EmbeddingCacheStats& stats) const;

 private:
  struct Entry {
    CacheKey key;
    CachedVectorPtr vector;
    std::size_t n_bytes;
  };
  void Insert(const CacheKey& key, CachedVectorPtr vector);

  const std::size_t budget_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<CacheKey, std::list<Entry>::iterator, CacheKeyHash> index_;
  std::unordered_map<CacheKey, PendingVectorPtr, CacheKeyHash> pending_;
  std::size_t bytes_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace lattice::embed
