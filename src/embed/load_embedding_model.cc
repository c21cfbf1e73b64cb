// From a model's folder to an EmbeddingModel.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "embed/embedding_model.h"
#include "embed/file_identity.h"
#include "weights/checkpoint.h"

namespace lattice::embed {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;

// Elements of the floating-point tensors; index buffers are no parameters.
Result<std::size_t> CountParameters(const std::filesystem::path& folder) {
  LATTICE_TRY(const std::shared_ptr<const weights::Checkpoint> checkpoint,
              weights::Checkpoint::Open(folder));
  std::size_t n = 0;
  for (const auto& [name, tensor] : checkpoint->tensors()) {
    if (IsWeight(tensor.dtype)) n += tensor.n_elements();
  }
  return n;
}

std::string RevisionOf(const ModelSource& source, const PipelineConfig& config) {
  if (!source.revision.empty()) return source.revision;
  std::vector<std::filesystem::path> folders = {source.folder};
  if (config.transformer != source.folder) folders.push_back(config.transformer);
  for (const PipelineStep& step : config.steps) {
    if (const auto* dense = std::get_if<DenseSpec>(&step)) folders.push_back(dense->folder);
  }
  return FileIdentity(folders);
}

}  // namespace

Result<std::shared_ptr<EmbeddingModel>> EmbeddingModel::Load(const ModelSource& source,
                                                             const Engine& engine) {
  std::error_code code;
  if (std::filesystem::is_regular_file(source.folder, code)) {
    return Error{ErrorCode::kUnsupported,
                 source.folder.string() + " is a file: embeddings need a model's folder"};
  }
  if (!std::filesystem::is_directory(source.folder, code)) {
    return Error{ErrorCode::kNotFound, "no model folder " + source.folder.string()};
  }
  LATTICE_TRY(PipelineConfig config,
              ReadPipelineConfig(source.folder,
                                 {source.hub_id, source.name, source.folder.filename().string()}));
  const auto config_file = config.transformer / "config.json";
  LATTICE_TRY(const std::string model_config, ReadFile(config_file, kMaxConfigBytes));
  LATTICE_TRY(const ScoreActivation activation,
              ParseScoreActivation(model_config, config_file.string()));
  LATTICE_TRY(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
              tokenizers::Tokenizer::FromFolder(config.transformer));
  LATTICE_TRY(
      std::shared_ptr<const models::Model> model,
      models::LoadModel(
          config.transformer, *engine.backend,
          {.purpose = models::Purpose::kEmbed, .precision = engine.precision, .log = engine.log}));
  EmbeddingModelInfo info;
  info.name = source.name;
  info.folder = source.folder;
  info.revision = RevisionOf(source, config);
  LATTICE_TRY(info.n_parameters, CountParameters(config.transformer));
  return Make(std::move(config), std::move(tokenizer), std::move(model), activation,
              std::move(info), engine);
}

}  // namespace lattice::embed
