#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizers/model.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// What the models have in common: a vocabulary, and an error for words outside it.
class VocabularyModel : public TokenModel {
 public:
  std::optional<TokenId> Find(std::string_view token) const override {
    return vocabulary_.Find(token);
  }
  std::optional<std::string_view> Text(TokenId id) const override { return vocabulary_.Text(id); }
  std::size_t vocab_size() const override { return vocabulary_.size(); }

 protected:
  explicit VocabularyModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  static Error NoTokenFor(std::string_view word) {
    return {ErrorCode::kInvalidArgument, "the vocabulary has neither '" +
                                             std::string(word.substr(0, 64)) +
                                             "' nor a token for unknown text"};
  }

  Vocabulary vocabulary_;
};

/// For models that keep no buffers.
class EmptyScratch final : public TokenModel::Scratch {};

}  // namespace lattice::tokenizers
