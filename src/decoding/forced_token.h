#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "grammar/matcher.h"
#include "grammar/vocabulary.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"

namespace lattice::decoding {

/// Which token comes where a grammar leaves a text no choice. The bytes are certain there, but many
/// tokens begin with some of them: the one that comes is that which the tokenizer would make of
/// them, so that the model reads what it is used to. Where one of the tokens that may come goes
/// past what is certain, nothing is forced: the choice is the model's.
class ForcedTokens {
 public:
  ForcedTokens(std::shared_ptr<const grammar::Vocabulary> vocabulary,
               std::shared_ptr<const tokenizers::Tokenizer> tokenizer)
      : vocabulary_(std::move(vocabulary)), tokenizer_(std::move(tokenizer)) {}

  /// Depends on the text so far alone. Errors as Matcher's.
  Result<std::optional<TokenId>> After(grammar::Matcher& text);

 private:
  std::optional<TokenId> FirstToken(std::string_view forced) const;

  std::shared_ptr<const grammar::Vocabulary> vocabulary_;
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::vector<std::uint64_t> allowed_;
};

}  // namespace lattice::decoding
