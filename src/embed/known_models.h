#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lattice/embedding.h"

namespace lattice::embed {

/// What a model's card says and its files may not: pooling of a bare checkpoint, prompts.
struct KnownModel {
  std::string_view name;  ///< Normalised: see NormalizeModelName.
  Pooling pooling = Pooling::kMean;
  bool normalize = true;
  std::size_t max_tokens = 0;  ///< 0 = all that the model's positions allow.
  std::string_view query_prompt = {};
  std::string_view passage_prompt = {};
  std::string_view append_token = {};  ///< Ends every text, whatever the tokenizer's template says.
  bool needs_dense = false;  ///< Dense layers follow; a folder without them is incomplete.
};

/// The model's own name in lower case with '-' for '_': of a hub id ("BAAI/bge-small-en-v1.5"), an
/// alias, a folder, or a path inside a hub cache (".../models--BAAI--bge-m3/snapshots/<revision>").
std::string NormalizeModelName(std::string_view name);

/// The entry for a normalised name; also for a variant of it ("bge-m3-int8" is bge-m3): the longest
/// entry that the name equals or continues after a '-'. Null when there is none.
const KnownModel* FindKnownModel(std::string_view normalized_name);

}  // namespace lattice::embed
