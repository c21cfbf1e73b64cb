#pragma once

#include <memory>

#include "tokenizers/added_tokens.h"
#include "tokenizers/decoder.h"
#include "tokenizers/model.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/post_processor.h"
#include "tokenizers/pre_tokenizer.h"
#include "tokenizers/tokenizer.h"

namespace lattice::tokenizers {

/// The parts of a tokenizer, as some file format describes them. Pointers but the model's may be
/// null.
struct PipelineParts {
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Decoder> decoder;  ///< Without one, tokens are joined by spaces.
  AddedTokens added_tokens;
  PostProcessor post_processor;
};

/// The tokenizer made of these parts: added tokens are cut out, the text between them is
/// normalised, cut into words and given to the model; then truncation and the post-processor.
std::shared_ptr<const Tokenizer> MakePipeline(PipelineParts parts);

}  // namespace lattice::tokenizers
