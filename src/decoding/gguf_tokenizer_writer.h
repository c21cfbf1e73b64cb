#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "tokenizers/tokenizer.h"
#include "weights/gguf_writer.h"

namespace lattice::decoding {

/// A folder's tokenizer, and what the folder's other files say about it.
struct TokenizerSource {
  std::string_view json;                             ///< The text of tokenizer.json.
  const tokenizers::Tokenizer* tokenizer = nullptr;  ///< Made of it.
  std::size_t vocab = 0;                             ///< Rows of the embedding table.
  std::vector<std::pair<std::string, std::string>> special_tokens;  ///< "bos_token": "<s>", ...
  std::vector<TokenId> stop_ids;                                    ///< Any of them ends an answer.
};

/// Sets the keys "tokenizer.ggml.*". There are as many tokens as rows: unused ones fill the end,
/// those without a row are left out. Byte-level BPE becomes "gpt2", BPE over characters with bytes
/// as fallback becomes "llama", whose scores are the merges' ranks.
///
/// Errors  kUnsupported for other kinds, and for a byte-level one whose cutting into words has no
///         name among GGUF files; kCorruptData names the key.
Status WriteGgufTokenizer(const TokenizerSource& source, weights::GgufPairs& pairs);

}  // namespace lattice::decoding
