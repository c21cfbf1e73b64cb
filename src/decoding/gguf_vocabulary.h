#pragma once

#include <memory>

#include "lattice/result.h"
#include "tokenizers/tokenizer.h"
#include "tokenizers/vocabulary_data.h"
#include "weights/gguf_metadata.h"

namespace lattice::decoding {

/// What the keys "tokenizer.ggml.*" say; its strings are views into the file.
/// Errors  kNotFound without a tokenizer; kCorruptData names file, key and types.
Result<tokenizers::VocabularyData> ReadGgufVocabulary(const weights::GgufMetadata& metadata);

/// The tokenizer of a GGUF file: of the whole tokenizer.json that a few files carry
/// ("tokenizer.huggingface.json"), else of the keys above. It keeps nothing of the file.
Result<std::shared_ptr<const tokenizers::Tokenizer>> MakeGgufTokenizer(
    const weights::GgufMetadata& metadata);

}  // namespace lattice::decoding
