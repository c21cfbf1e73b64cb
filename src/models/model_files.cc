#include "models/model_files.h"

#include "base/files.h"

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

Result<std::unique_ptr<const ModelFiles>> ModelFiles::Open(const std::filesystem::path& path) {
  std::unique_ptr<ModelFiles> files(new ModelFiles());
  LATTICE_TRY_VOID(files->OpenFolder(path));
  return std::unique_ptr<const ModelFiles>(std::move(files));
}

std::size_t ModelFiles::weights_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : checkpoint_->tensors()) bytes += tensor.bytes.size();
  return bytes;
}

}  // namespace lattice::models
