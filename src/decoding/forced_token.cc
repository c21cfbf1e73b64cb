#include "decoding/forced_token.h"

#include <algorithm>
#include <span>
#include <string>

namespace lattice::decoding {
namespace {

// Bytes that are looked at: what a token is made of depends on few that follow.
constexpr std::size_t kMaxBytes = 128;

}  // namespace

Result<std::optional<TokenId>> ForcedTokens::After(grammar::Matcher& text) {
  LATTICE_TRY(const std::string forced, text.Forced(kMaxBytes));
  if (forced.empty()) return std::optional<TokenId>();
  const std::span<const TokenId> longer = vocabulary_->tokens_from(forced);
  if (!longer.empty()) {
    allowed_.assign(vocabulary_->n_words(), UINT64_MAX);
    LATTICE_TRY_VOID(text.Fill(allowed_));
    const auto goes_past = [&](TokenId id) {
      return vocabulary_->token(id).size() > forced.size() &&
             (allowed_[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0;
    };
    if (std::ranges::any_of(longer, goes_past)) return std::optional<TokenId>();
  }
  return FirstToken(forced);
}

std::optional<TokenId> ForcedTokens::FirstToken(std::string_view forced) const {
  const auto encoded =
      tokenizer_->Encode(forced, {.add_special_tokens = false, .special_as_text = true});
  if (encoded && !encoded->ids.empty()) {
    const TokenId first = encoded->ids[0];
    const bool has_text =
        static_cast<std::size_t>(first) < vocabulary_->size() && !vocabulary_->token(first).empty();
    // Not so where the tokenizer puts a space before each text.
    if (has_text && forced.starts_with(vocabulary_->token(first))) return first;
  }
  for (std::size_t n = forced.size(); n > 0; --n) {
    // Pieces have higher ids than bytes.
    const auto tokens = vocabulary_->tokens_of(forced.substr(0, n));
    if (!tokens.empty()) return tokens.back();
  }
  return std::nullopt;
}

}  // namespace lattice::decoding
