#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "weights/checkpoint_loader.h"
#include "weights/json_scanner.h"
#include "weights/khq_file.h"
#include "weights/khq_index.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

constexpr char kKhqIndexFile[] = "quantize_index.json";
// Tensors whose rows are not whole blocks are widened when they are opened; no such tensor of a
// real model is larger.
constexpr std::size_t kMaxWidenedElements = std::size_t{1} << 22;

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Files of tensors in a folder, in the order of their names. Not those that older programs left
// there as a cache of several tensors in one.
std::set<std::string> TensorFiles(const std::filesystem::path& folder) {
  std::set<std::string> names;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, ignored);
  for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::string ending = entry->path().extension().string();
    const bool is_tensor = ending == ".q4" || ending == ".q3" || ending == ".f16";
    if (is_tensor && !name.starts_with("merged_qkvz_")) names.insert(name);
  }
  return names;
}

}  // namespace

bool CheckpointLoader::IsKhqFolder(const std::filesystem::path& folder) {
  return Exists(folder / kKhqIndexFile) || !TensorFiles(folder).empty();
}

Status CheckpointLoader::AddKhqFolder(const std::filesystem::path& folder) {
  const std::filesystem::path index_file = folder / kKhqIndexFile;
  if (!Exists(index_file)) {
    checkpoint_->names_are_file_stems_ = true;
    for (const std::string& file : TensorFiles(folder)) {
      const std::string stem = std::filesystem::path(file).stem().string();
      LATTICE_TRY_VOID(AddKhqFile(folder / file, stem, nullptr));
    }
    return Ok();
  }
  LATTICE_TRY(const std::string text, ReadFile(index_file, kMaxKhqIndexBytes));
  auto index = ParseKhqIndex(text);
  if (!index) return std::move(index).error().Within(index_file.string());
  for (const KhqIndexEntry& entry : index->entries) {
    LATTICE_TRY_VOID(AddKhqFile(folder / entry.file, entry.name, &entry));
  }
  checkpoint_->rotation_seed_ = index->rotation_seed;
  return Ok();
}

Status CheckpointLoader::AddKhqFile(const std::filesystem::path& path, const std::string& name,
                                    const KhqIndexEntry* listed) {
  LATTICE_TRY(MappedFile file, MappedFile::Open(path));
  auto tensor = ParseKhqFile(file.bytes());
  if (!tensor) return std::move(tensor).error().Within(path.string());
  if (listed != nullptr && listed->shape != tensor->shape) {
    return Error{ErrorCode::kCorruptData, path.string() + ": shape " + ShapeText(tensor->shape) +
                                              ", in the index " + ShapeText(listed->shape)};
  }
  if (listed != nullptr && listed->quantised != IsBlock(tensor->dtype)) {
    return Error{ErrorCode::kCorruptData, path.string() + ": holds " +
                                              std::string(DtypeName(tensor->dtype)) +
                                              ", which is not what the index says"};
  }
  TensorView view{tensor->dtype, tensor->shape, file.bytes().subspan(tensor->begin)};
  const std::size_t row = tensor->shape.empty() ? 1 : tensor->shape.back();
  if (row % LayoutOf(tensor->dtype).elements != 0) {
    if (tensor->n_elements > kMaxWidenedElements) {
      return Error{ErrorCode::kUnsupported, path.string() + ": rows of " + std::to_string(row) +
                                                " elements are not whole blocks"};
    }
    std::vector<float> values(view.n_elements());
    WidenToF32(view.dtype, view.bytes, values);
    values.resize(tensor->n_elements);
    checkpoint_->widened_.push_back(std::move(values));
    view.dtype = Dtype::kF32;
    view.bytes = std::as_bytes(std::span(checkpoint_->widened_.back()));
  }
  checkpoint_->files_.push_back(std::move(file));
  return AddTensor(path, name, std::move(view));
}

}  // namespace lattice::weights
