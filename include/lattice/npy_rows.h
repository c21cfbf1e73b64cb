#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "lattice/result.h"

namespace lattice {

class MappedFile;

/// The rows of a NumPy file of f32 (.npy), read where they lie: a matrix for VectorOps that takes
/// no memory of its own. Immutable, free to copy; the file must not be changed meanwhile.
///
/// Errors  kNotFound; kCorruptData: not a NumPy file of two axes, or cut short; kUnsupported:
///         another element type or order. The messages name the file. Values are not looked at:
///         searches name rows that are not finite.
class NpyRows {
 public:
  static Result<NpyRows> Open(const std::filesystem::path& file);

  std::span<const float> values() const { return values_; }  ///< [size, dims]
  std::size_t size() const { return values_.size() / dims_; }
  std::size_t dims() const { return dims_; }  ///< At least 1.

 private:
  NpyRows() = default;
  std::shared_ptr<const MappedFile> file_;
  std::span<const float> values_;
  std::size_t dims_ = 1;
};

}  // namespace lattice
