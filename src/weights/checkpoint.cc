#include "weights/checkpoint.h"

#include <algorithm>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include "lattice/check.h"
#include "weights/checkpoint_loader.h"
#include "weights/json_scanner.h"
#include "weights/khq_index.h"
#include "weights/safetensors_header.h"

namespace lattice::weights {
namespace {

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool IsFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Weights in formats that this reader does not know, so that the error can say what to do.
std::string OtherWeights(const std::filesystem::path& folder) {
  constexpr std::string_view kSuffixes[] = {".safetensors", ".bin",  ".pt",   ".pth",
                                            ".onnx",        ".gguf", ".ckpt", ".h5"};
  std::set<std::string> found;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, ignored);
  for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    for (const std::string_view suffix : kSuffixes) {
      if (name.ends_with(suffix) && found.size() < 5) found.insert(name);
    }
  }
  std::string text;
  for (const std::string& name : found) text += (text.empty() ? "" : ", ") + Quoted(name);
  return text;
}

Error NoWeights(const std::filesystem::path& folder) {
  std::string message =
      "no " + std::string(kSingleFile) + " or " + kIndexFile + " in " + folder.string();
  if (const std::string others = OtherWeights(folder); !others.empty()) {
    message += "; there is " + others + ", which is not read in their place";
  }
  return Error{ErrorCode::kNotFound, std::move(message)};
}

}  // namespace

Status CheckpointLoader::AddTensor(const std::filesystem::path& file, std::string name,
                                   TensorView view) {
  const auto [at, added] = checkpoint_->tensors_.try_emplace(std::move(name), std::move(view));
  if (added) return Ok();
  return Error{ErrorCode::kCorruptData, file.string() + ": tensor " + Quoted(at->first) +
                                            " is already in another file of the model"};
}

std::size_t TensorView::n_elements() const {
  const BlockLayout layout = LayoutOf(dtype);
  return bytes.size() / layout.bytes * layout.elements;
}

Result<std::vector<float>> TensorView::ToF32() const {
  if (!IsWeight(dtype)) {
    return Error{ErrorCode::kUnsupported,
                 "dtype " + std::string(DtypeName(dtype)) + " where weights are needed"};
  }
  std::vector<float> values(n_elements());
  WidenToF32(dtype, bytes, values);
  return values;
}

Result<std::shared_ptr<const Checkpoint>> Checkpoint::Open(const std::filesystem::path& path) {
  CheckpointLoader loader;
  if (!IsFolder(path)) {
    LATTICE_TRY_VOID(path.extension() == ".gguf" ? loader.AddGguf(path)
                                                 : loader.AddSafetensors(path));
  } else if (Exists(path / kSingleFile)) {
    LATTICE_TRY_VOID(loader.AddSafetensors(path / kSingleFile));
  } else if (Exists(path / kIndexFile)) {
    LATTICE_TRY_VOID(loader.AddSafetensorsShards(path / kIndexFile));
  } else if (CheckpointLoader::IsKhqFolder(path)) {
    LATTICE_TRY_VOID(loader.AddKhqFolder(path));
  } else {
    return NoWeights(path);
  }
  return loader.Take();
}

const TensorView* Checkpoint::Find(std::string_view name) const {
  const auto found = names_are_file_stems_ ? tensors_.find(KhqFileStem(name)) : tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<TensorView> Checkpoint::Get(std::string_view name,
                                   std::span<const std::size_t> shape) const {
  const TensorView* view = Find(name);
  if (view == nullptr) {
    return Error{ErrorCode::kNotFound, "tensor " + Quoted(name) + " is missing"};
  }
  if (!std::ranges::equal(view->shape, shape)) {
    return Error{ErrorCode::kCorruptData, "tensor " + Quoted(name) + " has the shape " +
                                              ShapeText(view->shape) + ", expected " +
                                              ShapeText(shape)};
  }
  return *view;
}

void Checkpoint::Release(std::span<const std::byte> bytes) const {
  const std::less<const std::byte*> before;
  for (const MappedFile& file : files_) {
    const auto all = file.bytes();
    const bool inside = !before(bytes.data(), all.data()) &&
                        !before(all.data() + all.size(), bytes.data() + bytes.size());
    if (inside) file.Release(bytes);
  }
}

}  // namespace lattice::weights
