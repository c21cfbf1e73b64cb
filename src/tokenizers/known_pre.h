#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "lattice/result.h"
#include "tokenizers/normalizer.h"
#include "tokenizers/pre_tokenizer.h"

namespace lattice::tokenizers {

/// What the name in "tokenizer.ggml.pre" stands for.
struct KnownPre {
  std::unique_ptr<Normalizer> normalizer;       ///< May be null.
  std::unique_ptr<PreTokenizer> pre_tokenizer;  ///< Words stay plain bytes: BpeInput::kRawBytes.
  bool ignore_merges = false;                   ///< A word that is a token stays whole.
  bool add_bos = false;                         ///< Unless the file says otherwise.
};

/// Empty and "default" are GPT-2's. kUnsupported names an unknown one and those known.
Result<KnownPre> MakeKnownPre(std::string_view name);

/// The name of what a tokenizer.json's "pre_tokenizer" does; nothing when there is none.
std::optional<std::string_view> NameOfPre(const JsonView& pre_tokenizer);

}  // namespace lattice::tokenizers
