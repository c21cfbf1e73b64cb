#include "engine/text_model.h"

#include <algorithm>
#include <utility>

#include "decoding/gguf_vocabulary.h"
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

Status ReadGgufParts(const fs::path& path, TextModel& model) {
  LATTICE_TRY(const auto checkpoint, weights::Checkpoint::Open(path));
  LATTICE_TRY(model.tokenizer, decoding::MakeGgufTokenizer(*checkpoint->gguf()));
  LATTICE_TRY(model.defaults, ReadGenerationDefaults(*checkpoint->gguf()));
  return Ok();
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

Result<TextModel> LoadTextModel(const fs::path& path, kernels::Backend& backend,
                                std::optional<kernels::Precision> precision) {
  TextModel model;
  model.name = NameOf(path);
  LATTICE_TRY(model.model,
              models::LoadModel(path, backend, {models::Purpose::kGenerate, precision}));
  if (!model.model->info().has_lm_head) {
    return Error{ErrorCode::kUnsupported,
                 path.string() + ": a " + model.model->info().architecture +
                     " model without a language-model head generates nothing"};
  }
  if (IsGguf(path)) {
    LATTICE_TRY_VOID(ReadGgufParts(path, model));
  } else {
    LATTICE_TRY(model.tokenizer, tokenizers::Tokenizer::FromFolder(path));
    LATTICE_TRY(model.defaults, ReadGenerationDefaults(path));
  }
  LATTICE_TRY_VOID(CheckStopIds(model));
  return model;
}

}  // namespace lattice::engine
