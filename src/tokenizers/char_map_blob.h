#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::tokenizers {

/// SentencePiece's precompiled map from character sequences to replacements, as it lies in files:
/// the size of a trie, the trie, and the replacements with a NUL after each. Nothing in the trie is
/// trusted: a walk that would leave it ends.
///
/// Source  SentencePiece, normalizer.cc; darts-clone for the trie's layout.
class CharMapBlob {
 public:
  struct Match {
    std::size_t n_bytes;           ///< How much of the text is replaced.
    std::string_view replacement;  ///< Valid UTF-8; may be empty.
  };

  /// A map without entries.
  CharMapBlob() = default;
  /// One replacement is at most this long, so that a text cannot grow without bound.
  static constexpr std::size_t kMaxReplacementBytes = 1024;

  /// kCorruptData when sizes do not agree, or the replacements are not UTF-8 or too long.
  static Result<CharMapBlob> Parse(std::string_view blob);

  /// What the longest key that `text` starts with (or the shortest) stands for.
  std::optional<Match> Find(std::string_view text, bool longest) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace lattice::tokenizers
