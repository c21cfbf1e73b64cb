#include "models/model_files.h"

#include <system_error>

#include "base/files.h"
#include "models/gguf_config.h"

namespace lattice::models {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

}  // namespace

/// The sizes first: a config that cannot be right should say so before the weights' complaints.
Status ModelFiles::ReadDescription() {
  LATTICE_TRY(family_, FindFamily(config()));
  LATTICE_TRY(description_, family_->describe(config()));
  return Ok();
}

Status ModelFiles::OpenFolder(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "config.json";
  LATTICE_TRY(const std::string text, ReadFile(file, kMaxConfigBytes));
  auto json = ParseJson(text);
  if (!json) return std::move(json).error().Within(file.string());
  json_ = std::move(*json);
  where_ = file.string() + ": ";
  LATTICE_TRY_VOID(ReadDescription());
  LATTICE_TRY(checkpoint_, weights::Checkpoint::Open(folder));
  return Ok();
}

Status ModelFiles::OpenGguf(const std::filesystem::path& file) {
  LATTICE_TRY(checkpoint_, weights::Checkpoint::Open(file));
  if (checkpoint_->gguf() == nullptr) {
    return Error{ErrorCode::kUnsupported, file.string() + ": not a GGUF file, and no folder"};
  }
  auto model = ReadGgufModel(*checkpoint_);
  if (!model) return std::move(model).error().Within(file.string());
  json_ = std::move(model->config);
  layout_ = std::move(model->layout);
  where_ = file.string() + ": as ";
  return ReadDescription();
}

Result<std::shared_ptr<const ModelFiles>> ModelFiles::Open(const std::filesystem::path& path) {
  std::shared_ptr<ModelFiles> files(new ModelFiles());
  files->path_ = path;
  std::error_code ignored;
  const bool file = std::filesystem::is_regular_file(path, ignored);
  LATTICE_TRY_VOID(file ? files->OpenGguf(path) : files->OpenFolder(path));
  return std::shared_ptr<const ModelFiles>(std::move(files));
}

std::size_t ModelFiles::weights_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : checkpoint_->tensors()) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace lattice::models
