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

struct EncodeOptions {
  bool add_special_tokens = true;  ///< The template of the post-processor ([CLS] ... [SEP]).
  bool special_as_text = false;    ///< Special tokens that occur in the text are plain text.
  bool with_offsets = false;       ///< Fill Encoding::offsets.
  /// Longest result, added special tokens included; 0 = no limit. Longer texts lose tokens at their
  /// end, before the template is applied (pairs: longest first), as the reference does.
  std::size_t max_tokens = 0;
};

struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> type_ids;    ///< 0 or 1 for each id: which segment the template says.
  std::vector<Offset> offsets;           ///< Empty unless asked for; (0, 0) for added tokens.
  std::size_t n_tokens_untruncated = 0;  ///< What ids.size() would be without max_tokens.
  bool truncated() const { return n_tokens_untruncated > ids.size(); }
};

/// Text to ids and back, as the model's own tokenizer files say. Immutable: any number of threads
/// may use one at a time. Ill-formed UTF-8 in a text is read as U+FFFD.
///
/// Errors  kCorruptData names file and key; kUnsupported an unknown component and the known ones.
/// Source  Hugging Face tokenizers (tokenizer.json), SentencePiece (.model), BERT vocab.txt.
class Tokenizer {
 public:
  /// tokenizer.json in `folder`; else a SentencePiece model (tokenizer.model, spiece.model,
  /// sentencepiece.bpe.model); else vocab.txt (WordPiece, with tokenizer_config.json).
  static Result<std::shared_ptr<const Tokenizer>> FromFolder(const std::filesystem::path& folder);
  static Result<std::shared_ptr<const Tokenizer>> FromJson(std::string_view tokenizer_json);
  static Result<std::shared_ptr<const Tokenizer>> FromSentencePiece(std::string_view model);

  virtual ~Tokenizer() = default;

  /// kInvalidArgument when max_tokens leaves no room for the template's own tokens.
  virtual Result<Encoding> Encode(std::string_view text, const EncodeOptions& options) const = 0;
  virtual Result<Encoding> EncodePair(std::string_view first, std::string_view second,
                                      const EncodeOptions& options) const = 0;

  /// kInvalidArgument when an id is outside the vocabulary.
  virtual Result<std::string> Decode(std::span<const TokenId> ids,
                                     bool skip_special_tokens) const = 0;

  /// Ids are below this. At most a gap or two of a file lies below it unused.
  virtual std::size_t vocab_size() const = 0;
  virtual std::optional<TokenId> Find(std::string_view token) const = 0;
  /// The token as its file spells it ("##ing", "Ġthe"); absent for an unused id.
  virtual std::optional<std::string_view> TokenText(TokenId id) const = 0;
};

}  // namespace lattice::tokenizers
