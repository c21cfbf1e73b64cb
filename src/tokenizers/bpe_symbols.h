#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/model.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// How a BPE model reads the characters of a word before any merge.
struct BpeSpelling {
  BpeInput input = BpeInput::kAsSpelled;
  std::string unk_token;  ///< Empty: unknown characters vanish.
  std::string prefix;     ///< Put before every character but the first.
  std::string suffix;     ///< Put after the last character.
  bool fuse_unk = false;  ///< Neighbouring unknown characters become one token.
  bool byte_fallback =
      false;  ///< Unknown characters become <0xXX> tokens where all of those exist.
};

/// Cuts words into the symbols that merges start from: one a character, where the vocabulary has
/// it.
class BpeSymbols {
 public:
  BpeSymbols(const Vocabulary& vocabulary, BpeSpelling spelling);

  const BpeSpelling& spelling() const { return spelling_; }

  /// The symbols of `word`, a range of `text`, in order, instead of what `symbols` held.
  /// `vocabulary` is the one of the constructor. Errors  kInvalidArgument when an unknown character
  /// needs an unk_token that is no token.
  Status Split(const Vocabulary& vocabulary, std::string_view text, Span word,
               std::vector<Piece>& symbols) const;

  /// The id of a character as the vocabulary spells it, without prefix or suffix; -1 when it has
  /// none.
  TokenId IdOf(char32_t scalar) const {
    const std::size_t page = page_of_[std::size_t{scalar} >> kPageBits];
    return pages_[page << kPageBits | (scalar & ((1u << kPageBits) - 1))];
  }

  /// True when `id` may stand for a character that the vocabulary lacks.
  bool StandsForUnknown(TokenId id) const {
    return stands_for_unknown_[static_cast<std::size_t>(id)];
  }

 private:
  static constexpr int kPageBits = 8;

  // The character at text[position] as the vocabulary spells it, affixes included.
  std::string AffixedSpelling(std::string_view character, bool is_first, bool is_last) const;

  BpeSpelling spelling_;
  std::optional<TokenId> unk_;
  std::array<TokenId, 256> byte_tokens_;  // <0x00> to <0xFF>; -1 where there is none
  std::vector<bool> stands_for_unknown_;  // by id
  std::array<TokenId, 256> raw_bytes_;    // kRawBytes: by byte
  std::array<std::uint16_t, (0x110000 >> kPageBits)> page_of_{};
  std::vector<TokenId> pages_;  // the first page is empty
};

}  // namespace lattice::tokenizers
