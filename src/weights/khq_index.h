#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::weights {

inline constexpr std::size_t kMaxKhqIndexBytes = std::size_t{16} << 20;

struct KhqIndexEntry {
  std::string name;
  std::string file;        ///< A plain name: nothing outside the folder.
  bool quantised = false;  ///< .q4 or .q3; else .f16.
  std::vector<std::size_t> shape;
};

struct KhqIndex {
  /// Of a model whose residual stream was rotated: adapters made for the plain model need it.
  std::optional<std::uint64_t> rotation_seed;
  std::vector<KhqIndexEntry> entries;
};

/// Reads the text of quantize_index.json: an array of {name, file, quantized, shape, numel}, or for
/// a rotated model an object {quarot_seed, tensors: that array, ...}.
///
/// Errors  kCorruptData with the key: also for a repeated name or file, a file with another ending
/// than
///         .q4, .q3 or .f16 or outside the folder, and a numel that is not the shape's.
///         kUnsupported for models that need rotations while they run. The index itself is not
///         named.
Result<KhqIndex> ParseKhqIndex(std::string_view text);

/// The file, without its ending, that holds a tensor: every character but letters, digits and '-'
/// is a '_'.
std::string KhqFileStem(std::string_view tensor_name);

}  // namespace lattice::weights
