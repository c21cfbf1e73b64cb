#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// A double-array trie over the bytes of a set of strings: one memory access a step.
class Trie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;

  struct Entry {
    std::string_view text;
    TokenId id;
  };

  /// Longer strings are refused, so that a walk from every byte of a text stays linear.
  static constexpr std::size_t kMaxEntryBytes = 2048;

  Trie() : units_(kBlock) {}
  /// Empty strings are left out. Of a text that occurs twice the later entry counts. kUnsupported
  /// when one is longer than kMaxEntryBytes.
  static Result<Trie> Build(std::vector<Entry> entries);
  /// All tokens of a vocabulary.
  static Result<Trie> Build(const Vocabulary& vocabulary);

  /// The node one byte further, or kNone.
  Node Child(Node node, char byte) const {
    const Node next = units_[node].base ^ static_cast<std::uint8_t>(byte);
    return units_[next].parent == node ? next : kNone;
  }
  /// The node at the end of `text`, or kNone.
  Node Walk(Node node, std::string_view text) const {
    for (const char byte : text) {
      if (node == kNone) return kNone;
      node = Child(node, byte);
    }
    return node;
  }
  /// The id of the string that ends at `node`, or -1.
  TokenId Id(Node node) const { return units_[node].id; }

 private:
  static constexpr std::size_t kBlock = 256;

  // The child of node n by byte b is unit base(n) ^ b if that unit's parent is n. A base of 0, that
  // of nodes without children, leads into the first block, whose units have other parents.
  struct Unit {
    std::uint32_t base = 0;
    Node parent = kNone;
    TokenId id = -1;
  };
  class Builder;

  std::vector<Unit> units_;
};

}  // namespace lattice::tokenizers
