#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/sentencepiece_model.h"
#include "tokenizers/trie.h"

namespace lattice::tokenizers {

/// SentencePiece's own way from a text to the form that its pieces are spelled in: replacements by
/// the longest key at each place, white space trimmed and collapsed, spaces written as U+2581.
class SentencePieceNormalizer {
 public:
  /// spec, user_defined  outlive this. Pieces in `user_defined` are passed on as they are.
  SentencePieceNormalizer(const SentencePieceModel::Normalization& spec, const Trie& user_defined,
                          bool whitespace_is_suffix)
      : spec_(spec), user_defined_(user_defined), whitespace_is_suffix_(whitespace_is_suffix) {}

  struct Output {
    std::string text;
    /// For each byte of `text`, and its end, the byte of the input that it came from; empty unless
    /// asked for.
    std::vector<std::uint32_t> origins;
  };

  /// input   valid UTF-8, shorter than 2^31 bytes.
  /// Errors  kResourceExhausted when the map makes more than 1 GiB of it.
  Status Run(std::string_view input, bool with_origins, Output& result) const;

 private:
  struct Step {
    std::string_view text;
    std::size_t n_consumed;
  };
  class Writer;

  Step NextStep(std::string_view rest) const;

  const SentencePieceModel::Normalization& spec_;
  const Trie& user_defined_;
  bool whitespace_is_suffix_;
};

/// The length of the longest entry of `trie` that `text` starts with; 0 when there is none.
std::size_t LongestPrefix(const Trie& trie, std::string_view text);

}  // namespace lattice::tokenizers
