#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// What joining two neighbours gives, and how urgent it is.
struct Merge {
  std::uint32_t rank;  ///< The lowest goes first.
  TokenId id;
};

/// The merges of a BPE model: (left id, right id) -> rank and joined id.
class MergeTable {
 public:
  void Reserve(std::size_t n_merges);
  /// A later merge of the same pair replaces the earlier one, as in the reference. kCorruptData
  /// when the pairs were made to collide in a hash table.
  Status Add(TokenId left, TokenId right, Merge merge);

  std::optional<Merge> Find(TokenId left, TokenId right) const {
    const std::uint64_t key = KeyOf(left, right);
    for (std::size_t slot = Hash(key);; ++slot) {
      const Entry& entry = entries_[slot & mask_];
      if (entry.key == key) return entry.merge;
      if (entry.key == kEmpty) return std::nullopt;
    }
  }

 private:
  static constexpr std::uint64_t kEmpty =
      UINT64_MAX;  // Ids are not negative: no pair has this key.
  struct Entry {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };

  static std::uint64_t KeyOf(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  static std::uint64_t Hash(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return (key ^ key >> 32) * 0xD6E8FEB86659FD93u >> 24;
  }

  // At most half full; one empty entry lets lookups in a table without merges end.
  std::vector<Entry> entries_ = std::vector<Entry>(1);
  std::size_t mask_ = 0;
  std::size_t n_merges_ = 0;
};

/// Applies merges to a row of symbols until none fits: always the lowest rank, the leftmost of
/// equals. Quadratic over a few symbols in registers and cache lines; n log n with a heap over
/// many.
class BpeMerger {
 public:
  /// symbols  in text order; replaced by the joined ones. Ranges need not touch.
  void Run(const MergeTable& merges, std::vector<Piece>& symbols);

 private:
  void RunShort(const MergeTable& merges, std::vector<Piece>& symbols);
  void RunLong(const MergeTable& merges, std::vector<Piece>& symbols);

  struct Waiting {  // A merge in the heap: stale once the symbol's own `merge` is another.
    std::uint64_t rank_and_position;
    TokenId id;
  };
  struct Symbol {
    std::uint32_t previous, next;  // positions; kNowhere at the ends
    std::uint64_t merge;  // rank << 32 | id of the merge with `next`; kNoMerge if none fits
  };

  std::vector<std::uint64_t> pair_merges_;
  std::vector<Symbol> symbols_;
  std::vector<Waiting> heap_;
};

}  // namespace lattice::tokenizers
