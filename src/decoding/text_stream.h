#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "decoding/stop_matcher.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

struct TextStreamOptions {
  std::vector<std::string> stop_strings = {};
  std::vector<TokenId> stop_tokens = {};  ///< End of the answer; their own text is never shown.
  bool skip_special_tokens = true;
  std::vector<TokenId> shown_special = {};  ///< Special tokens that are not skipped.
};

/// Drawn tokens to the text that is shown, with its end. The pieces are whole characters; joined
/// they are the decoded text of all tokens before the first stop token, up to where the first stop
/// string begins.
class TextStream {
 public:
  enum class Stop { kNone, kToken, kString };

  /// Errors  as StopMatcher::Create, and kInvalidArgument for a stop token outside the vocabulary.
  static Result<TextStream> Create(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                   const TextStreamOptions& options);

  /// Takes the next token and appends to `shown` what can be shown now. What it returns is why the
  /// text has ended, if it has; everything held back has been shown then, and later tokens are
  /// ignored. Errors  as Tokenizer::Decode.
  Result<Stop> Push(TokenId id, std::string& shown);

  /// The tokens have ended for another reason (their number): appends what was held back. Returns
  /// kString when that completed a stop string.
  Result<Stop> Finish(std::string& shown);

  Stop stop() const { return stop_; }
  /// Which stop string ended the text, if one did.
  std::optional<std::size_t> matched_string() const { return matcher_.matched(); }

 private:
  TextStream(std::shared_ptr<const tokenizers::Tokenizer> tokenizer, StopMatcher matcher,
             const TextStreamOptions& options);

  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::unique_ptr<tokenizers::TokenStream> tokens_;
  StopMatcher matcher_;
  std::vector<TokenId> stop_tokens_;
  std::vector<TokenId> shown_special_;  // if any, special tokens are skipped here
  std::string piece_;
  Stop stop_ = Stop::kNone;
};

}  // namespace lattice::decoding
