#pragma once

#include <memory>
#include <span>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/model.h"
#include "tokenizers/sentencepiece_model.h"

namespace lattice::tokenizers {

/// SentencePiece's BPE (always the pair whose concatenation has the highest score) as the model of
/// a pipeline. Of `model` its types, scores and texts are read, and `unk`, which may be -1;
/// characters that are no piece become the byte tokens <0x00> to <0xFF>, if the model has them.
///
/// whole   pieces that are found first, the longest at each place, and never joined.
/// Errors  kCorruptData: some byte tokens, or no way to spell unknown text; kUnsupported: a piece
/// of
///         `whole` is longer than a trie takes.
Result<std::unique_ptr<TokenModel>> MakeScoredBpe(SentencePieceModel model,
                                                  std::span<const TokenId> whole);

}  // namespace lattice::tokenizers
