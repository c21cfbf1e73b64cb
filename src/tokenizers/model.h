#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// Half-open range of bytes in a normalised text.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(Span, Span) = default;
};

/// One token and the bytes it stands for.
struct Piece {
  TokenId id = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(Piece, Piece) = default;
};

/// The innermost step of a tokenizer: normalised words to ids. Immutable: any number of threads may
/// use one at a time, each with a scratch of its own.
class TokenModel {
 public:
  /// Buffers and caches that a caller keeps between calls. They never change a result.
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  virtual ~TokenModel() = default;
  virtual std::unique_ptr<Scratch> MakeScratch() const = 0;

  /// Appends the tokens of each word to `out`, in order; their byte ranges count from the start of
  /// `text`. Time is near-linear in the length of a word.
  ///
  /// text     valid UTF-8, shorter than 2^31 bytes.
  /// words    ranges of `text` that are not empty, in rising order, on code point borders.
  /// scratch  from this model's MakeScratch.
  /// Errors   kInvalidArgument when the vocabulary has neither the text nor a token for the
  /// unknown.
  virtual Status Tokenize(std::string_view text, std::span<const Span> words, Scratch& scratch,
                          std::vector<Piece>& out) const = 0;

  /// Tokens as the file spells them.
  virtual std::optional<TokenId> Find(std::string_view token) const = 0;
  virtual std::optional<std::string_view> Text(TokenId id) const = 0;
  /// Ids are below this.
  virtual std::size_t vocab_size() const = 0;
};

/// How the words of a BPE model reach it.
enum class BpeInput {
  kAsSpelled,  ///< The words are spelled like the vocabulary.
  kRawBytes,   ///< The vocabulary is spelled in GPT-2's byte alphabet ('Ġ' for a space), the words
               ///< are plain text. Saves the detour of every byte through that alphabet.
};

/// The "model" object of a tokenizer.json. Numbers in it are checked against the vocabulary.
/// Errors  kCorruptData names the key.
Result<std::unique_ptr<TokenModel>> MakeWordPiece(const JsonView& model);
Result<std::unique_ptr<TokenModel>> MakeBpe(const JsonView& model, BpeInput input);
Result<std::unique_ptr<TokenModel>> MakeUnigram(const JsonView& model);
Result<std::unique_ptr<TokenModel>> MakeWordLevel(const JsonView& model);

/// The object's "type", or what its keys imply in files without one, decides. kUnsupported names an
/// unknown type and the known ones.
Result<std::unique_ptr<TokenModel>> MakeTokenModel(const JsonView& model, BpeInput input);

/// BERT's vocab.txt: one token a line, its id the line's number.
Result<std::unique_ptr<TokenModel>> MakeWordPieceFromLines(std::string_view vocab_txt,
                                                           std::string_view unk_token);

/// From their parts. Words longer than 100 characters are unknown.
Result<std::unique_ptr<TokenModel>> MakeWordPiece(Vocabulary vocabulary,
                                                  std::string_view unk_token);
/// scores  [vocabulary.size()], finite.
/// unk     for unknown text; below vocabulary.size().
Result<std::unique_ptr<TokenModel>> MakeUnigram(Vocabulary vocabulary, std::vector<double> scores,
                                                std::optional<TokenId> unk, bool byte_fallback);

}  // namespace lattice::tokenizers
