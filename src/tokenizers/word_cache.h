#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizers/model.h"

namespace lattice::tokenizers {

/// Remembers the tokens of short words: a table of fixed size in which a newer word takes the place
/// of an older one. Shared by all threads without a lock: a slot is one cache line whose first word
/// is a version, odd while someone writes. Never changes a result, only the time it takes.
class WordCache {
 public:
  static constexpr std::size_t kMaxWordBytes = 32;

  /// n_slots  a power of two; each takes 64 bytes.
  explicit WordCache(std::size_t n_slots = 1u << 15);

  /// Appends the word's tokens, moved by `offset`, and returns true; or returns false.
  /// kind  tells apart words that are cut differently (0 to 127).
  bool Find(std::string_view word, std::uint8_t kind, std::uint32_t offset,
            std::vector<Piece>& out) const;

  /// Remembers the pieces of a word that begins at `offset`, if they fit: the word at most
  /// kMaxWordBytes long and covered by its pieces without a gap.
  void Insert(std::string_view word, std::uint8_t kind, std::uint32_t offset,
              std::span<const Piece> pieces);

 private:
  static constexpr std::size_t kWords = 8;
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> words[kWords];
  };
  struct Key;

  std::unique_ptr<Slot[]> slots_;
  std::size_t mask_;
};

}  // namespace lattice::tokenizers
