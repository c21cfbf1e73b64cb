#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "numeric/dtype.h"

namespace lattice::weights {

/// Limits of the format: the first is that of the published definition, the second ours.
inline constexpr std::size_t kMaxSafetensorsHeaderBytes = 100'000'000;
inline constexpr std::size_t kMaxTensorRank = 64;

struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::size_t> shape;
  std::size_t begin = 0;  ///< Of the tensor's bytes, counted from SafetensorsHeader::data_begin.
  std::size_t end = 0;
};

/// What a safetensors file says about itself.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< In the order of their bytes.
  std::map<std::string, std::string> metadata;
  std::size_t data_begin = 0;  ///< Byte of the file where the tensors start.
};

/// Reads and proves the header of a whole file: 8 bytes little-endian length, JSON (white space
/// around it is fine), then the tensors, which must tile the rest of the file exactly. Time and
/// memory are bounded by the header's length (times its logarithm: names are sorted to find
/// repeated ones).
///
/// Errors  kCorruptData, or kUnsupported for a known dtype that this build does not read and for
/// more
///         than kMaxTensorRank dimensions. They name the tensor and the numbers, not the file.
/// Source  the format's README and reference reader (github.com/huggingface/safetensors). Stricter
///         than that reader: repeated names or keys, unknown keys and U+0000 are refused.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file);

/// StorageBytes(dtype, product(shape)), or nothing when the product of the dimensions that are not
/// 0 does not fit, or is not whole blocks.
std::optional<std::size_t> TensorBytes(Dtype dtype, std::span<const std::size_t> shape);

/// "[2, 3]"
std::string ShapeText(std::span<const std::size_t> shape);

}  // namespace lattice::weights
