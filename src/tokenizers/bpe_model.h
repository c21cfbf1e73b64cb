#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lattice/result.h"
#include "tokenizers/bpe_symbols.h"
#include "tokenizers/model.h"
#include "tokenizers/vocabulary.h"

namespace lattice::tokenizers {

/// A BPE model from its parts.
///
/// merges         "left right", cut at the first space that is not their first byte; the most
///                urgent first.
/// ignore_merges  a word that is a token is taken as it is.
/// Errors         kCorruptData names a merge that is no pair of tokens, or whose product is none.
Result<std::unique_ptr<TokenModel>> MakeBpe(Vocabulary vocabulary, BpeSpelling spelling,
                                            std::span<const std::string_view> merges,
                                            bool ignore_merges);

}  // namespace lattice::tokenizers
