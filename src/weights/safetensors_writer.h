#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::weights {

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::size_t> shape;
};

/// Writes a safetensors file tensor by tensor, holding none of their data. The file appears under
/// its name when Finish succeeds; before, and after an error, nothing is there. Move-only.
class SafetensorsWriter {
 public:
  /// Writes the header. Tensors lie in the file in the order of `tensors`; put the widest dtypes
  /// first to keep all aligned. Errors  kInvalidArgument: a repeated name, "__metadata__" as a
  /// name, a name or metadata that is
  ///         not UTF-8 or holds U+0000, more than kMaxTensorRank dimensions, a block format, sizes
  ///         that overflow, a header above the format's limit, or a place that cannot be written;
  ///         kResourceExhausted: the disk is full.
  static Result<SafetensorsWriter> Create(const std::filesystem::path& file,
                                          std::vector<TensorSpec> tensors,
                                          const std::map<std::string, std::string>& metadata = {});

  /// The next bytes: those of the first tensor, then of the second, in pieces of any size,
  /// little-endian and row-major. More bytes than the specs announce are kInvalidArgument.
  Status Append(std::span<const std::byte> bytes);
  Status Append(std::span<const float> values) { return Append(std::as_bytes(values)); }

  /// kInvalidArgument when bytes are missing (names the first unfinished tensor).
  Status Finish();

 private:
  SafetensorsWriter(std::filesystem::path path, AtomicFile file, std::vector<TensorSpec> tensors,
                    std::size_t n_bytes)
      : path_(std::move(path)),
        file_(std::move(file)),
        tensors_(std::move(tensors)),
        n_bytes_(n_bytes) {}

  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<TensorSpec> tensors_;
  std::size_t n_bytes_ = 0;  // of all tensors
  std::size_t n_written_ = 0;
};

}  // namespace lattice::weights
