#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {

Result<std::string> Tokenizer::Decode(std::span<const TokenId> ids,
                                      bool skip_special_tokens) const {
  const auto stream = StartDecoding(skip_special_tokens);
  std::string text;
  for (const TokenId id : ids) LATTICE_TRY_VOID(stream->Push(id, text));
  LATTICE_TRY_VOID(stream->Finish(text));
  return text;
}

Status CheckId(TokenId id, std::size_t vocab_size) {
  if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) return Ok();
  return Error{ErrorCode::kInvalidArgument, "token id " + std::to_string(id) +
                                                " is outside the vocabulary of " +
                                                std::to_string(vocab_size)};
}

}  // namespace lattice::tokenizers
