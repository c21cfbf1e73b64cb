#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/sha256.h"
#include "lattice/embedding.h"

namespace lattice::embed {

/// SHA-256 over a text and everything that decides its vector.
struct CacheKey {
  Sha256Digest digest;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

struct CacheKeyHash {
  // The digest is uniform already. The first byte chooses the shard, so other bytes serve here.
  std::size_t operator()(const CacheKey& key) const {
    std::size_t hash = 0;
    std::memcpy(&hash, key.digest.data() + 8, sizeof(hash));
    return hash;
  }
};

/// Makes the keys of one request: what the texts share is digested once. The arithmetic's precision
/// is no part: a cache serves one service, which has one.
class CacheKeyMaker {
 public:
  CacheKeyMaker(const EmbeddingModelInfo& model, const EmbedRequest& request);
  CacheKey Make(std::string_view text) const;

 private:
  Sha256Digest shared_;
};

}  // namespace lattice::embed
