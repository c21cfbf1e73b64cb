#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::embed {

/// The text with each scalar value in lower case, one by one (no final sigma), as a Lowercase
/// normaliser does. Ill-formed bytes become U+FFFD.
std::string LowerCase(std::string_view text);

/// Text to ids as a sentence-transformers model wants it: prompt in front, lower case if asked for,
/// cut to the longest length, and with the token that must end every text.
class TextEncoder {
 public:
  struct Options {
    std::size_t max_tokens = 0;  ///< All tokens of a text; at least 1.
    bool lower_case = false;
    std::string append_token;  ///< Empty: none.
  };
  /// kCorruptData when the tokenizer does not have append_token.
  static Result<TextEncoder> Make(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                  const Options& options);

  Result<tokenizers::Encoding> Encode(std::string_view prompt, std::string_view text,
                                      bool special_as_text) const;

  const tokenizers::Tokenizer& tokenizer() const { return *tokenizer_; }

  /// Tokens at the beginning of a text with this prompt that belong to the prompt; a token that the
  /// template puts in front counts as the prompt's.
  Result<std::size_t> PromptTokens(std::string_view prompt, bool special_as_text) const;

 private:
  TextEncoder(std::shared_ptr<const tokenizers::Tokenizer> tokenizer, std::size_t max_tokens,
              bool lower_case, std::optional<TokenId> append)
      : tokenizer_(std::move(tokenizer)),
        max_tokens_(max_tokens),
        lower_case_(lower_case),
        append_(append) {}

  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::size_t max_tokens_;
  bool lower_case_;
  std::optional<TokenId> append_;
};

}  // namespace lattice::embed
