#include "engine/text_model.h"

#include <algorithm>
#include <future>
#include <utility>

#include "decoding/gguf_vocabulary.h"
#include "models/model_files.h"
#include "weights/checkpoint.h"

namespace lattice::engine {
namespace {

namespace fs = std::filesystem;

bool IsGguf(const fs::path& path) { return path.extension() == ".gguf"; }

/// "SmolLM2-135M-Instruct.Q4_1" of a file, "qwen3.5-0.8b" of a folder, with or without a last '/'.
std::string NameOf(const fs::path& path) {
  if (IsGguf(path)) return path.stem().string();
  const fs::path name = path.filename().empty() ? path.parent_path() : path;
  return name.filename().string();
}

using TokenizerResult = Result<std::shared_ptr<const tokenizers::Tokenizer>>;

TokenizerResult ReadTokenizer(const models::ModelFiles& files) {
  const weights::GgufMetadata* gguf = files.checkpoint()->gguf();
  return gguf != nullptr ? decoding::MakeGgufTokenizer(*gguf)
                         : tokenizers::Tokenizer::FromFolder(files.path());
}

Result<GenerationDefaults> ReadDefaults(const models::ModelFiles& files) {
  const weights::GgufMetadata* gguf = files.checkpoint()->gguf();
  return gguf != nullptr ? ReadGenerationDefaults(*gguf) : ReadGenerationDefaults(files.path());
}

/// Ids from files of another model would be read out of bounds.
Status CheckStopIds(const TextModel& model) {
  for (const TokenId id : model.defaults.stop_ids) {
    if (static_cast<std::size_t>(id) < model.n_tokens()) continue;
    return Error{ErrorCode::kCorruptData,
                 model.name + ": the end-of-text token " + std::to_string(id) +
                     " is outside the vocabulary of " + std::to_string(model.n_tokens())};
  }
  return Ok();
}

}  // namespace

std::size_t TextModel::n_tokens() const {
  return std::min(model->info().vocab, tokenizer->vocab_size());
}

Result<std::shared_ptr<const tokenizers::Tokenizer>> LoadTokenizer(const fs::path& path) {
  if (!IsGguf(path)) return tokenizers::Tokenizer::FromFolder(path);
  LATTICE_TRY(const auto checkpoint, weights::Checkpoint::Open(path));
  return decoding::MakeGgufTokenizer(*checkpoint->gguf());
}

Result<TextModel> LoadTextModel(const models::ModelFiles& files, kernels::Backend& backend,
                                const models::LoadOptions& options) {
  if (!files.description().info.has_lm_head) {
    return Error{ErrorCode::kUnsupported,
                 files.path().string() + ": a " + files.description().info.architecture +
                     " model without a language-model head generates nothing"};
  }
  // A large vocabulary takes as long as the weights: side by side.
  std::future<TokenizerResult> tokenizer =
      std::async(std::launch::async, [&files] { return ReadTokenizer(files); });
  TextModel model;
  model.name = NameOf(files.path());
  LATTICE_TRY(model.model, models::LoadModel(files, backend, options));
  LATTICE_TRY(model.defaults, ReadDefaults(files));
  LATTICE_TRY(model.tokenizer, tokenizer.get());
  LATTICE_TRY_VOID(CheckStopIds(model));
  return model;
}

}  // namespace lattice::engine
