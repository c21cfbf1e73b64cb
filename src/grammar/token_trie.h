#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace lattice::grammar {

/// Byte strings of tokens as a tree in one array: each node before its children, these in the order
/// of their bytes. A walk goes through it from left to right and jumps over what is ruled out.
class TokenTrie {
 public:
  struct Node {
    std::uint32_t end;          ///< Past the last node below it.
    std::uint32_t first_token;  ///< Its tokens and those below it begin there in `tokens`.
    std::uint8_t byte;
    std::uint8_t depth;  ///< 1 for the first byte of a token.
  };
  struct Entry {
    std::string_view bytes;
    TokenId id;
  };
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
  };
  static constexpr std::size_t kMaxDepth = 255;

  TokenTrie() { nodes_.push_back({0, 0, 0, 0}); }
  /// entries  sorted by bytes, each of 1 to kMaxDepth bytes.
  static TokenTrie Of(std::span<const Entry> entries);
  /// Of all that stands below some nodes of `source`, as if from the beginning.
  static TokenTrie Below(const TokenTrie& source, std::span<const std::uint32_t> nodes);

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
  Range all() const { return {0, size()}; }
  Range below(std::uint32_t node) const { return {node + 1, nodes_[node].end}; }
  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  /// Tokens that end at this node.
  std::span<const TokenId> tokens(std::uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token,
            nodes_[node + 1].first_token - nodes_[node].first_token};
  }
  /// Tokens that end at this node or below it.
  std::span<const TokenId> all_tokens(std::uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token,
            nodes_[nodes_[node].end].first_token - nodes_[node].first_token};
  }
  std::size_t n_bytes() const { return nodes_.capacity() * sizeof(Node) + tokens_.capacity() * 4; }

 private:
  void Merge(const TokenTrie& source, std::vector<Range>& siblings, std::uint8_t depth);
  void Seal();

  std::vector<Node> nodes_;  // and one more, behind the last
  std::vector<TokenId> tokens_;
};

}  // namespace lattice::grammar
