#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/generation_defaults.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/model.h"
#include "tokenizers/tokenizer.h"

namespace lattice::engine {

/// A generator with all that belongs to it.
struct TextModel {
  std::string name;  ///< File or folder name, for people.
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const tokenizers::Tokenizer> tokenizer;
  GenerationDefaults defaults;

  /// Logits of ids that no token has are never looked at.
  std::size_t n_tokens() const;
};

/// The files of a folder with config.json, weights and tokenizer files, or of a .gguf file, which
/// holds its tokenizer. `backend` must outlive the model. kUnsupported for a model that generates
/// nothing.
Result<TextModel> LoadTextModel(const models::ModelFiles& files, kernels::Backend& backend,
                                const models::LoadOptions& options);

/// The tokenizer of such a path alone.
Result<std::shared_ptr<const tokenizers::Tokenizer>> LoadTokenizer(
    const std::filesystem::path& path);

}  // namespace lattice::engine
