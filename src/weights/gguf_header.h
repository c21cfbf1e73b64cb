#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lattice/result.h"
#include "numeric/dtype.h"
#include "weights/gguf_metadata.h"

namespace lattice::weights {

/// Limits of ours, far above real files: they bound the memory and time that a small, or sparse,
/// hostile file can take.
inline constexpr std::uint64_t kMaxGgufTensors = 1 << 18;
inline constexpr std::uint64_t kMaxGgufPairs = 1 << 16;
inline constexpr std::uint64_t kMaxGgufAlignment = 1 << 20;
inline constexpr std::size_t kMaxGgufArrayDepth = 4;
inline constexpr std::size_t kMaxGgufWalked = 1 << 25;  // strings and arrays in all arrays together
/// Limits of the format.
inline constexpr std::size_t kMaxGgufRank = 4;
inline constexpr std::size_t kMaxGgufNameBytes = 63;
inline constexpr std::size_t kDefaultGgufAlignment = 32;

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";

struct GgufEntry {
  std::string_view name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::size_t> shape;  ///< Row-major: the file's dimensions in reverse.
  std::size_t begin = 0;           ///< Bytes [begin, end) of the file.
  std::size_t end = 0;
};

/// What a GGUF file says about itself. Views into the file.
struct GgufHeader {
  std::uint32_t version = 0;
  std::size_t alignment = kDefaultGgufAlignment;
  GgufMetadata metadata;
  std::vector<GgufEntry> entries;  ///< In the order of their bytes.
};

/// Reads and proves the header of a whole little-endian file, version 2 or 3: the pairs, then the
/// tensors, which must follow one another, each at the next multiple of the alignment, and end
/// inside the file. Arrays and strings are walked, not copied; time and memory are bounded by the
/// file's bytes up to the first tensor and the limits above.
///
/// Errors  kCorruptData, or kUnsupported for another version or byte order, tensor types that this
///         build does not read, and what is above our limits. They name byte, key or tensor, not
///         the file.
/// Source  the format's definition in ggml's documentation; as strict as its reference reader.
Result<GgufHeader> ParseGgufHeader(std::span<const std::byte> file);

}  // namespace lattice::weights
