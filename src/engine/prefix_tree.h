#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "models/sequence.h"

namespace lattice::engine {

/// A place in texts: the tokens from the root to it.
struct PrefixNode {
  PrefixNode* parent = nullptr;
  std::vector<TokenId> edge;  ///< The tokens since the parent; none for the root alone.
  std::size_t n_tokens = 0;   ///< Since the root.
  std::map<TokenId, std::unique_ptr<PrefixNode>> children;  ///< By the first token of their edge.

  std::unique_ptr<models::Sequence> sequence;  ///< What has read these tokens; may be null.
  std::uint64_t last_use = 0;
};

/// Beginnings of texts as a radix tree. Nodes stay where they are. Every node but the root has a
/// sequence or several children, once Prune has seen it.
class PrefixTree {
 public:
  struct Match {
    PrefixNode* node = nullptr;  ///< The node at the common beginning, or the next one after it.
    std::size_t n_tokens = 0;    ///< How long the common beginning is.
  };

  /// The longest beginning of `ids` that some text in the tree has too. Linear in it.
  Match Find(std::span<const TokenId> ids);

  /// The node of exactly these tokens, made if need be. Not for no tokens.
  PrefixNode& Insert(std::span<const TokenId> ids);

  /// Takes a node away that is of no use any more, and what thereby becomes so.
  void Prune(PrefixNode& node);

 private:
  PrefixNode& Split(PrefixNode& node, std::size_t n_tokens);

  PrefixNode root_;
};

}  // namespace lattice::engine
