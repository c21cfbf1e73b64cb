#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "tokenizers/model.h"
#include "tokenizers/sentencepiece_model.h"
#include "tokenizers/trie.h"

namespace lattice::tokenizers {

/// Cuts normalised text into SentencePiece's pieces. Immutable.
class SentencePieceSegmenter {
 public:
  virtual ~SentencePieceSegmenter() = default;

  /// Pieces that cover `text` from end to end, in order, instead of what `out` held; the model's
  /// unk for each character that is unknown.
  ///
  /// text  valid UTF-8, shorter than 2^31 bytes.
  virtual void Run(std::string_view text, std::vector<Piece>& out) const = 0;
};

/// The cut with the largest sum of scores, in single precision and over the whole text, as the
/// original computes it. `model` outlives the segmenter.
Result<std::unique_ptr<SentencePieceSegmenter>> MakeSentencePieceUnigram(
    const SentencePieceModel& model);

/// Neighbours whose concatenation is a piece are joined, the highest score first, the leftmost of
/// equals. `model` and `user_defined`, the pieces that are never split or joined, outlive it.
std::unique_ptr<SentencePieceSegmenter> MakeSentencePieceBpe(const SentencePieceModel& model,
                                                             const Trie& user_defined);

}  // namespace lattice::tokenizers
