#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "engine/kept_texts.h"
#include "engine/prefix_tree.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/sequence.h"

namespace lattice::engine {

/// Sequences of texts that nobody works at, for prompts that begin in the same way. What attention
/// layers remember serves any shorter beginning too, so one sequence is kept of the longest; a
/// recurrent layer goes on from where a sequence was kept, or a few tokens before. The least
/// recently used goes first.
class PrefixCache {
 public:
  static constexpr std::size_t kMaxTexts = 4096;

  /// max_bytes  of pages, each counted once, and of recurrent states.
  /// n_pages    of the store that all sequences are from.
  PrefixCache(const models::StateShape& shape, kernels::KvType kv_type, std::size_t max_bytes,
              std::size_t n_pages);
  ~PrefixCache() { Clear(); }
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  bool is_on() const { return max_bytes_ > 0; }

  /// A new sequence that has read the longest beginning of `ids` at hand, if that is longer than
  /// `n_known`; else null. kResourceExhausted.
  Result<std::unique_ptr<models::Sequence>> Find(std::span<const TokenId> ids, std::size_t n_known);

  /// Whether Keep of these tokens would bring nothing new. They count as used then.
  bool Holds(std::span<const TokenId> ids);
  /// Keeps what has read exactly `ids`, for a while.
  void Keep(std::span<const TokenId> ids, std::unique_ptr<models::Sequence> sequence);

  /// The most recently used texts that fit, each page counted once, in rising order of tokens.
  std::vector<KeptText> Texts(std::size_t max_bytes) const;

  /// Gives up the least recently used one; false when there is none.
  bool Evict();
  void Clear();

  std::size_t n_texts() const { return by_use_.size(); }
  std::size_t bytes() const { return n_pages_ * page_bytes_ + state_bytes(); }
  std::size_t state_bytes() const { return by_use_.size() * bytes_per_state_; }

 private:
  struct Source {
    PrefixNode* node = nullptr;
    std::size_t n_tokens = 0;
  };
  Source Longest(std::span<const TokenId> ids);
  /// A node at or below `node` whose sequence can be cut to n tokens.
  static PrefixNode* Cuttable(PrefixNode& node, std::size_t n, bool is_recurrent);
  void Use(PrefixNode& node);
  void Drop(PrefixNode& node);
  void CountPages(const models::Sequence& sequence, bool added);

  bool is_recurrent_;
  std::size_t max_bytes_, page_bytes_, bytes_per_state_;
  PrefixTree tree_;
  std::map<std::uint64_t, PrefixNode*> by_use_;  // those with a sequence, by last_use
  std::uint64_t clock_ = 0;
  std::vector<std::uint32_t> page_users_;  // [pages of the store] kept sequences
  std::size_t n_pages_ = 0;                // with any
};

}  // namespace lattice::engine
