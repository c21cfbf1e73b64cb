#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "lattice/result.h"
#include "numeric/dtype.h"

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

/// Named tensors of one model: a safetensors file, or several with their index. Mapped, never
/// copied.
class Checkpoint {
 public:
  /// `path` is a .safetensors file, or a folder with model.safetensors or
  /// model.safetensors.index.json. Errors name file, tensor and numbers.
  static Result<std::shared_ptr<const Checkpoint>> Open(const std::filesystem::path& path);

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const TensorView* Find(std::string_view name) const;
  /// kNotFound when absent; kCorruptData when the shape differs (the message gives both).
  Result<TensorView> Get(std::string_view name, std::span<const std::size_t> shape) const;

  /// Lets go of the memory pages behind `bytes` (see MappedFile::Release), after a packed copy of
  /// them was made.
  void Release(std::span<const std::byte> bytes) const;

 private:
  friend class CheckpointLoader;
  Checkpoint() = default;
  std::vector<MappedFile> files_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace lattice::weights
