#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// The strings of a vocabulary and their ids, both ways. Ids may have gaps. Of a string that is
/// added twice the later id is found, as in the reference; both ids keep their text.
class Vocabulary {
 public:
  /// Larger ids are refused: tables are indexed by id, so one number could ask for any memory.
  static constexpr TokenId kMaxId = (1 << 22) - 1;

  /// `tokens` is an object of token -> id. kCorruptData names the token: no integer, outside
  /// 0..kMaxId, an id used twice, no tokens at all.
  static Result<Vocabulary> FromObject(const JsonView& tokens);

  void Reserve(std::size_t n_tokens, std::size_t n_bytes);
  /// kCorruptData when the id is outside 0..kMaxId or has a text already.
  Status Add(std::string_view token, TokenId id);

  /// Brings what Add will look at into the cache: for large vocabularies, a few tokens ahead.
  void Prefetch(std::string_view token) const;

  std::optional<TokenId> Find(std::string_view token) const;
  /// Absent for an unused id.
  std::optional<std::string_view> Text(TokenId id) const;

  /// Ids are below this.
  std::size_t size() const { return texts_.size(); }
  std::size_t n_tokens() const { return n_tokens_; }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    TokenId id = -1;
  };
  struct TextRange {
    std::uint32_t begin = 0;
    std::uint32_t size = kUnused;
  };
  static constexpr std::uint32_t kUnused = UINT32_MAX;

  void Rehash(std::size_t n_slots);
  std::string_view TextOf(TokenId id) const {
    const TextRange& range = texts_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(range.begin, range.size);
  }

  std::string bytes_;
  std::vector<TextRange> texts_;  // by id
  std::vector<Slot> slots_;  // open addressing, linear probes, a power of two, at most half full
  std::size_t n_tokens_ = 0;
};

}  // namespace lattice::tokenizers
