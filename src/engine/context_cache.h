#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/model.h"
#include "models/sequence.h"

namespace lattice::engine {

/// One conversation's place in a model: the tokens that its Sequence has read, and earlier states
/// to fall back on when a new prompt differs from what was read. Attention alone can be cut
/// anywhere; recurrent layers only where a state was kept.
class ContextCache {
 public:
  struct Limits {
    std::size_t max_tokens = 0;       ///< Of the conversation.
    std::size_t max_checkpoints = 8;  ///< Earlier states kept; the least recently used goes first.
  };

  /// Memory for one conversation of `model`. kResourceExhausted.
  static Result<ContextCache> Make(const models::Model& model, kernels::Backend& backend,
                                   kernels::KvType kv_type, const Limits& limits);

  std::size_t max_tokens() const { return limits_.max_tokens; }

  /// What has been read.
  std::span<const TokenId> ids() const { return ids_; }

  /// Makes the sequence hold the longest prefix of `prompt` that is at hand, always leaving at
  /// least one token to read. Returns its length.
  /// States of what no longer agrees are dropped. kResourceExhausted.
  Result<std::size_t> Reuse(std::span<const TokenId> prompt);

  /// The sequence, with room for the tokens that are to be appended. kResourceExhausted.
  Result<models::Sequence*> Reserve(std::size_t n_tokens);
  /// Notes tokens that a Forward has appended.
  void Append(std::span<const TokenId> ids);

  /// Keeps the present state, so that a later prompt that agrees up to here starts from it. Nothing
  /// happens for a model of attention alone.
  Status Checkpoint();

  /// Forgets everything.
  void Reset();

  /// Replaces the state by one that was saved for these ids, or writes it out.
  Status Save(const std::filesystem::path& file) const;
  Status Load(const std::filesystem::path& file, std::vector<TokenId> ids);

 private:
  struct Kept {
    std::unique_ptr<models::Sequence> sequence;
    std::size_t n_tokens = 0;
    std::size_t last_use = 0;
  };
  /// The last kept state of at most n tokens; null when there is none.
  Kept* FindKept(std::size_t n);

  ContextCache(std::shared_ptr<models::SequenceStore> store, bool recurrent, const Limits& limits);

  std::shared_ptr<models::SequenceStore> store_;
  bool recurrent_;
  Limits limits_;
  std::unique_ptr<models::Sequence> sequence_;
  std::vector<TokenId> ids_;
  std::vector<Kept> kept_;  // rising n_tokens; all are states of prefixes of ids_
  std::size_t clock_ = 0;
};

}  // namespace lattice::engine
