#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "lattice/result.h"
#include "weights/gguf_metadata.h"
#include "weights/safetensors_writer.h"

namespace lattice::weights {

/// Key-value pairs on their way into a GGUF file, in the order in which they were first set.
/// Setting a key again replaces its value and type.
class GgufPairs {
 public:
  void SetUint32(std::string_view key, std::uint32_t value);
  void SetInt32(std::string_view key, std::int32_t value);
  void SetUint64(std::string_view key, std::uint64_t value);
  void SetFloat(std::string_view key, float value);
  void SetBool(std::string_view key, bool value);
  void SetString(std::string_view key, std::string_view value);
  void SetUint32s(std::string_view key, std::span<const std::uint32_t> values);
  void SetInt32s(std::string_view key, std::span<const std::int32_t> values);
  void SetFloats(std::string_view key, std::span<const float> values);
  void SetBools(std::string_view key, const std::vector<bool>& values);
  void SetStrings(std::string_view key, std::span<const std::string> values);
  void SetBytes(std::string_view key, std::span<const std::byte> values);  ///< An array of u8.
  /// A value of another file, as it is there.
  void Set(std::string_view key, const GgufValue& value);

 private:
  friend class GgufWriter;
  struct Pair {
    std::string key;
    std::string value;  // type and all, as it lies in a file
  };
  void Put(std::string_view key, std::string value);
  std::vector<Pair> pairs_;
};

/// Writes a GGUF file (version 3, alignment 32) tensor by tensor, holding none of their data. The
/// file appears under its name when Finish succeeds; before, and after an error, nothing is there.
/// Move-only.
class GgufWriter {
 public:
  /// Writes the header. Tensors lie in the file in the order of `tensors`, by row-major shape.
  /// Errors  kInvalidArgument: a repeated, empty or overlong name, a name or key that is not UTF-8
  /// or
  ///         holds U+0000, the key general.alignment (which is this class's to choose), more than
  ///         kMaxGgufRank dimensions, a dtype that the format has not, rows that are not whole
  ///         blocks, sizes that overflow, or a place that cannot be written; kResourceExhausted:
  ///         the disk is full.
  static Result<GgufWriter> Create(const std::filesystem::path& file, const GgufPairs& pairs,
                                   std::vector<TensorSpec> tensors);

  /// The next bytes: those of the first tensor, then of the second, in pieces of any size; what
  /// lies between tensors is added here. More bytes than the specs announce are kInvalidArgument.
  Status Append(std::span<const std::byte> bytes);
  Status Append(std::span<const float> values) { return Append(std::as_bytes(values)); }

  /// kInvalidArgument when bytes are missing (names the first unfinished tensor).
  Status Finish();

 private:
  GgufWriter(std::filesystem::path path, AtomicFile file, std::vector<TensorSpec> tensors,
             std::vector<std::size_t> sizes)
      : path_(std::move(path)),
        file_(std::move(file)),
        tensors_(std::move(tensors)),
        sizes_(std::move(sizes)) {}
  Status EndFinishedTensors();

  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<TensorSpec> tensors_;
  std::vector<std::size_t> sizes_;
  std::size_t tensor_ = 0;     // the one being written
  std::size_t n_written_ = 0;  // of its bytes
};

}  // namespace lattice::weights
