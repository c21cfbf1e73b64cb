#include <functional>
#include <map>
#include <utility>

#include "base/files.h"
#include "weights/checkpoint_loader.h"
#include "weights/json_scanner.h"
#include "weights/safetensors_header.h"
#include "weights/safetensors_index.h"

namespace lattice::weights {

Status CheckpointLoader::AddSafetensors(const std::filesystem::path& path) {
  LATTICE_TRY(MappedFile file, MappedFile::Open(path));
  auto header = ParseSafetensorsHeader(file.bytes());
  if (!header) return std::move(header).error().Within(path.string());
  const auto data = file.bytes().subspan(header->data_begin);
  for (SafetensorsEntry& entry : header->entries) {
    const auto bytes = data.subspan(entry.begin, entry.end - entry.begin);
    LATTICE_TRY_VOID(AddTensor(path, std::move(entry.name),
                               TensorView{entry.dtype, std::move(entry.shape), bytes}));
  }
  checkpoint_->files_.push_back(std::move(file));
  return Ok();
}

Status CheckpointLoader::AddSafetensorsShards(const std::filesystem::path& index) {
  LATTICE_TRY(const std::string text, ReadFile(index, kMaxSafetensorsIndexBytes));
  auto map = ParseSafetensorsIndex(text);
  if (!map) return std::move(map).error().Within(index.string());
  std::map<std::string_view, std::vector<std::string_view>> shards;
  for (const auto& [tensor, shard] : *map) shards[shard].push_back(tensor);
  for (const auto& [shard, tensors] : shards) {
    auto status = AddSafetensors(index.parent_path() / shard);
    if (!status) return std::move(status).error().Within("shard of " + index.string());
    LATTICE_TRY_VOID(CheckListed(index, shard, tensors));
  }
  return Ok();
}

// The tensors that the index places in `shard` lie in that file, the last one added.
Status CheckpointLoader::CheckListed(const std::filesystem::path& index, std::string_view shard,
                                     std::span<const std::string_view> tensors) const {
  const auto file = checkpoint_->files_.back().bytes();
  const std::less<const std::byte*> before;
  for (const std::string_view tensor : tensors) {
    const TensorView* view = checkpoint_->Find(tensor);
    const bool inside = view != nullptr && !before(view->bytes.data(), file.data()) &&
                        !before(file.data() + file.size(), view->bytes.data());
    if (!inside) {
      return Error{ErrorCode::kCorruptData,
                   index.string() + ": tensor " + Quoted(tensor) + " is not in " + Quoted(shard)};
    }
  }
  return Ok();
}

}  // namespace lattice::weights
