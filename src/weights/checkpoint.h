#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "lattice/result.h"
#include "numeric/dtype.h"
#include "weights/gguf_metadata.h"

namespace lattice::weights {

/// One tensor as it lies in a mapped file: row-major, little-endian. Valid while its Checkpoint
/// lives.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::size_t> shape;
  std::span<const std::byte>
      bytes;  ///< Exactly StorageBytes(dtype, product(shape)); any alignment.

  std::size_t n_elements() const;
  /// All elements as f32. For vectors and other small tensors; kUnsupported unless IsWeight(dtype).
  Result<std::vector<float>> ToF32() const;
};

/// Named tensors of one model: a safetensors file, or several with their index; a GGUF file, or one
/// in several parts; a folder of .q4 and .f16 files. Mapped, never copied.
class Checkpoint {
 public:
  /// `path` is a .safetensors file, a .gguf file (of several parts the first), or a folder with
  /// model.safetensors, model.safetensors.index.json, or files of tensors and quantize_index.json.
  /// Errors name file, tensor and numbers.
  static Result<std::shared_ptr<const Checkpoint>> Open(const std::filesystem::path& path);

  /// By the names that the file has; those of .q4 files without an index are their file names
  /// without the ending, under which Find and Get also find what they were made of.
  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const TensorView* Find(std::string_view name) const;
  /// kNotFound when absent; kCorruptData when the shape differs (the message gives both).
  Result<TensorView> Get(std::string_view name, std::span<const std::size_t> shape) const;

  /// The metadata of a GGUF file (of its first part); null for other formats.
  const GgufMetadata* gguf() const { return gguf_ ? &*gguf_ : nullptr; }

  /// Set when the residual stream of the model in a .q4 folder was rotated. It computes the same
  /// all the same; adapters made for the plain model need it.
  std::optional<std::uint64_t> rotation_seed() const { return rotation_seed_; }

  /// What the tensors lie in.
  std::span<const MappedFile> files() const { return files_; }

  /// Lets go of the memory pages behind `bytes` (see MappedFile::Release), after a packed copy of
  /// them was made.
  void Release(std::span<const std::byte> bytes) const;

 private:
  friend class CheckpointLoader;
  Checkpoint() = default;
  std::vector<MappedFile> files_;
  std::vector<std::vector<float>> widened_;  // small tensors whose rows are not whole blocks
  std::map<std::string, TensorView, std::less<>> tensors_;
  bool names_are_file_stems_ = false;
  std::optional<GgufMetadata> gguf_;
  std::optional<std::uint64_t> rotation_seed_;
};

}  // namespace lattice::weights
