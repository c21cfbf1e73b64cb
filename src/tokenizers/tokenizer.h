#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"

namespace lattice::tokenizers {

/// Half-open range of a token in its source text, counted in code points (not bytes).
struct Offset {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(Offset, Offset) = default;
};

/// Half-open range of bytes of a text.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  bool add_special_tokens = true;  ///< The template of the post-processor ([CLS] ... [SEP]).
  bool special_as_text = false;    ///< Special tokens that occur in the text are plain text.
  bool with_offsets = false;       ///< Fill Encoding::offsets.
  /// Longest result, added special tokens included; 0 = no limit. Longer texts lose tokens at their
  /// end, before the template is applied (pairs: longest first), as the reference does.
  std::size_t max_tokens = 0;
  /// Parts of the text, in rising order and apart, that are data and cannot ask for a token: what
  /// looks there like a special token, or another added one (<think>), is read as plain text, and
  /// so is what lies across their borders. Added tokens of white space alone, which control
  /// nothing, are found as usual. Words and merges see the whole text, so a harmless text has the
  /// ids that it has without ranges. One inside a character stands for all of it. Borrowed. For
  /// Encode only.
  std::span<const ByteRange> plain_ranges = {};
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> type_ids;    ///< 0 or 1 for each id: which segment the template says.
  std::vector<Offset> offsets;           ///< Empty unless asked for; (0, 0) for added tokens.
  std::size_t n_tokens_untruncated = 0;  ///< What ids.size() would be without max_tokens.
  bool truncated() const { return n_tokens_untruncated > ids.size(); }
};

/// The tokens of one text, turned into text as they come: the pieces are whole characters, and
/// joined they are what Decode makes of all ids. The work for a token does not grow with the text
/// before it. Text is held back only while a later token can change it: the first bytes of a
/// character, a run of byte tokens (which Decode judges as a whole), what a decoder strips or
/// replaces over the whole text.
class TokenStream {
 public:
  virtual ~TokenStream() = default;
  /// Appends to `text` what is certain now. Errors as Decode's; after one, no more may be pushed.
  virtual Status Push(TokenId id, std::string& text) = 0;
  /// Appends what was held back, an unfinished character as U+FFFD, and starts over.
  virtual Status Finish(std::string& text) = 0;
};

struct VocabularyData;

/// Text to ids and back, as the model's own tokenizer files say. Immutable: any number of threads
/// may use one at a time. Ill-formed UTF-8 in a text is read as U+FFFD.
///
/// Errors  kCorruptData names file and key; kUnsupported an unknown component and the known ones.
/// Source  Hugging Face tokenizers (tokenizer.json), SentencePiece (.model), BERT vocab.txt; GGUF
///         metadata.
class Tokenizer {
 public:
  /// tokenizer.json in `folder`; else a SentencePiece model (tokenizer.model, spiece.model,
  /// sentencepiece.bpe.model); else vocab.txt (WordPiece, with tokenizer_config.json).
  static Result<std::shared_ptr<const Tokenizer>> FromFolder(const std::filesystem::path& folder);
  static Result<std::shared_ptr<const Tokenizer>> FromJson(std::string_view tokenizer_json);
  static Result<std::shared_ptr<const Tokenizer>> FromSentencePiece(std::string_view model);
  /// What a GGUF file says of its tokenizer; copied, so `data` may go. See vocabulary_data.h.
  static Result<std::shared_ptr<const Tokenizer>> FromVocabulary(const VocabularyData& data);

  virtual ~Tokenizer() = default;

  /// kInvalidArgument when max_tokens leaves no room for the template's own tokens, or when
  /// plain_ranges are not inside the text, in order and apart.
  virtual Result<Encoding> Encode(std::string_view text, const EncodeOptions& options) const = 0;
  virtual Result<Encoding> EncodePair(std::string_view first, std::string_view second,
                                      const EncodeOptions& options) const = 0;

  /// kInvalidArgument when an id is outside the vocabulary.
  Result<std::string> Decode(std::span<const TokenId> ids, bool skip_special_tokens) const;
  /// Decodes token by token. The tokenizer outlives the stream.
  virtual std::unique_ptr<TokenStream> StartDecoding(bool skip_special_tokens) const = 0;

  /// Ids are below this. At most a gap or two of a file lies below it unused.
  virtual std::size_t vocab_size() const = 0;
  virtual std::optional<TokenId> Find(std::string_view token) const = 0;
  /// The token as its file spells it ("##ing", "Ġthe"); absent for an unused id.
  virtual std::optional<std::string_view> TokenText(TokenId id) const = 0;
  /// Whether decoding with skip_special_tokens leaves the token out.
  virtual bool IsSpecial(TokenId id) const = 0;
  /// The bytes that the token adds in the midst of a text ("ing", " the"), perhaps a part of a
  /// character; absent for an unused id.
  virtual std::optional<std::string> TokenBytes(TokenId id) const = 0;
};

/// kInvalidArgument when an id is outside 0 to vocab_size - 1.
Status CheckId(TokenId id, std::size_t vocab_size);

}  // namespace lattice::tokenizers
