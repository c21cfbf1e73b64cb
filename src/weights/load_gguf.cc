#include <utility>

#include "weights/checkpoint_loader.h"
#include "weights/gguf_split.h"

namespace lattice::weights {

Result<GgufHeader> CheckpointLoader::AddGgufFile(const std::filesystem::path& path) {
  LATTICE_TRY(MappedFile file, MappedFile::Open(path));
  auto header = ParseGgufHeader(file.bytes());
  if (!header) return std::move(header).error().Within(path.string());
  header->metadata.SetWhere(path.string());
  for (GgufEntry& entry : header->entries) {
    const auto bytes = file.bytes().subspan(entry.begin, entry.end - entry.begin);
    LATTICE_TRY_VOID(AddTensor(path, std::string(entry.name),
                               TensorView{entry.dtype, std::move(entry.shape), bytes}));
  }
  checkpoint_->files_.push_back(std::move(file));
  return header;
}

Status CheckpointLoader::AddGguf(const std::filesystem::path& path) {
  LATTICE_TRY(GgufHeader header, AddGgufFile(path));
  LATTICE_TRY_VOID(AddGgufParts(path, header.metadata));
  checkpoint_->gguf_ = std::move(header.metadata);
  return Ok();
}

Status CheckpointLoader::AddGgufParts(const std::filesystem::path& first,
                                      const GgufMetadata& metadata) {
  auto split = ReadGgufSplit(metadata);
  if (!split) return std::move(split).error().Within(first.string());
  if (split->count == 1) return Ok();
  LATTICE_TRY(const std::vector<std::filesystem::path> paths, GgufPartPaths(first, *split));
  for (std::size_t i = 1; i < paths.size(); ++i) {
    auto part = AddGgufFile(paths[i]);
    if (!part) return std::move(part).error().Within("part of " + first.string());
    auto place = ReadGgufSplit(part->metadata);
    if (!place) return std::move(place).error().Within(paths[i].string());
    if (place->number == i && place->count == split->count) continue;
    return Error{ErrorCode::kCorruptData,
                 paths[i].string() + ": is part " + std::to_string(place->number + 1) + " of " +
                     std::to_string(place->count) + ", expected part " + std::to_string(i + 1) +
                     " of " + std::to_string(split->count)};
  }
  const std::size_t n_tensors = checkpoint_->tensors_.size();
  LATTICE_TRY(const std::uint64_t announced, metadata.UintOr("split.tensors.count", n_tensors));
  if (announced == n_tensors) return Ok();
  return Error{ErrorCode::kCorruptData, first.string() + ": the parts hold " +
                                            std::to_string(n_tensors) + " tensors, but " +
                                            std::to_string(announced) + " are announced"};
}

}  // namespace lattice::weights
