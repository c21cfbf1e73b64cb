#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/command.h"
#include "tokenizers/tokenizer.h"

namespace lattice::apps {

/// Adds --model.
void DeclareTokenizerModel(CLI::App& arguments, std::string& model);

/// The tokenizer of MODEL, which may also be a tokenizer.json or a SentencePiece .model by itself.
Result<std::shared_ptr<const tokenizers::Tokenizer>> OpenTokenizer(const std::string& model,
                                                                   const AppContext& context);

}  // namespace lattice::apps
