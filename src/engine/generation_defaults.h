#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "lattice/result.h"
#include "weights/gguf_metadata.h"

namespace lattice::engine {

/// What a model's own files say about generating with it.
struct GenerationDefaults {
  std::vector<TokenId> stop_ids;  ///< Any of them ends an answer.
  /// Sampling that its authors recommend; absent where the files are silent.
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::size_t> top_k;
};

/// generation_config.json, and config.json for what that leaves out. A folder without either has no
/// defaults. Errors name file and key.
Result<GenerationDefaults> ReadGenerationDefaults(const std::filesystem::path& folder);

/// The end-of-text, end-of-turn and end-of-message tokens of a GGUF file.
Result<GenerationDefaults> ReadGenerationDefaults(const weights::GgufMetadata& metadata);

}  // namespace lattice::engine
