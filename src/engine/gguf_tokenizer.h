#pragma once

#include <memory>

#include "lattice/result.h"
#include "tokenizers/tokenizer.h"
#include "weights/gguf_metadata.h"

namespace lattice::engine {

/// The tokenizer that a GGUF file's "tokenizer.ggml.*" keys describe. Errors name file and key.
Result<std::shared_ptr<const tokenizers::Tokenizer>> ReadGgufTokenizer(
    const weights::GgufMetadata& metadata);

}  // namespace lattice::engine
