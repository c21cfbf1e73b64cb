#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/token_id.h"

namespace lattice::tokenizers {

/// What the metadata of a GGUF file says about its tokenizer ("tokenizer.ggml.*"), as plain data.
/// Strings are views into the file. What the file does not say is absent: Tokenizer::FromVocabulary
/// knows the defaults. It refuses (kCorruptData) tokens that are not UTF-8, lists whose lengths do
/// not fit, merges and ids outside the vocabulary; (kUnsupported) an unknown `model` or `pre`.
///
/// To know: special tokens are those of type control and unknown; user-defined ones are added
/// tokens that decoding always shows. All are looked for in the raw text. Runs of spaces among the
/// user-defined tokens are read as runs of U+2581, as SentencePiece has them. Qwen's normal form C,
/// which GGUF does not record, is applied.
struct VocabularyData {
  enum Type : std::int32_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
  };

  /// "gpt2" (byte-level BPE), "llama" (SentencePiece BPE by scores), "bert" (WordPiece), "t5"
  /// (Unigram), "gemma4" (BPE over characters with bytes as fallback).
  std::string_view model;
  /// How "gpt2" cuts a text into words. Empty, or "default": as GPT-2.
  std::string_view pre;

  std::vector<std::string_view> tokens;  ///< By id.
  std::vector<float> scores;             ///< One a token, or none; "llama" and "t5" need them.
  std::vector<std::int32_t> types;       ///< One a token (see Type), or none: all are normal.
  std::vector<std::string_view> merges;  ///< "left right", the most urgent first.

  std::optional<TokenId> bos;  ///< BERT's [CLS] too.
  std::optional<TokenId> eos, eot, eom, unknown, separator, padding, mask;

  std::optional<bool> add_bos, add_eos;
  std::optional<bool> add_space_prefix;          ///< "llama": before a text. Default true.
  std::optional<bool> remove_extra_whitespaces;  ///< "t5". Default false.
  std::optional<bool> lowercase;                 ///< "bert". Default true.
  std::optional<bool> strip_accents;             ///< "bert". Default as lowercase.
  std::string_view char_map;  ///< "t5": SentencePiece's precompiled_charsmap, its bytes.
};

}  // namespace lattice::tokenizers
