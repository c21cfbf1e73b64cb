#pragma once

#include <optional>
#include <span>
#include <vector>

#include "server/http/api_error.h"
#include "tokenizers/tokenizer.h"

namespace lattice::server {

/// The tokens by which a model is asked for what belongs between two texts.
struct InfillTokens {
  TokenId prefix = 0, suffix = 0, middle = 0;
  std::vector<TokenId> ends;  ///< That end such an answer, besides the model's own.
};

/// Those of Qwen and CodeGemma, StarCoder and Granite, Code Llama, DeepSeek; absent when the
/// vocabulary has none of them.
std::optional<InfillTokens> FindInfillTokens(const tokenizers::Tokenizer& tokenizer);

/// A prompt that asks for what stands between the two: what the tokenizer begins any text with,
/// then prefix, `before`, suffix, `after`, middle.
Result<std::vector<TokenId>> InfillPrompt(const InfillTokens& tokens,
                                          std::span<const TokenId> before,
                                          std::span<const TokenId> after,
                                          const tokenizers::Tokenizer& tokenizer);

}  // namespace lattice::server
