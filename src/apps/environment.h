#pragma once

#include <filesystem>
#include <string>

#include "lattice/result.h"

namespace lattice::apps {

/// What the programs take from environment variables. Nothing else in the project reads them.
struct Environment {
  std::filesystem::path model_cache;  ///< LATTICE_MODEL_CACHE, else ~/.lattice/models.
  bool keep_packed = true;            ///< LATTICE_WEIGHT_CACHE: auto, or off.
  bool offline = false;               ///< LATTICE_OFFLINE: 1, true, yes or on.
  std::string hub_endpoint;           ///< HF_ENDPOINT; empty: the public hub.
  std::string hub_token;              ///< HF_TOKEN.
  std::string api_keys;               ///< LATTICE_API_KEYS: of `serve`, with commas between them.
};

/// kInvalidArgument when a variable holds what cannot be meant.
Result<Environment> ReadEnvironment();

}  // namespace lattice::apps
