#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lattice/result.h"

namespace lattice::weights {

inline constexpr std::size_t kMaxSafetensorsIndexBytes = std::size_t{64} << 20;

/// Which file of a folder holds each tensor.
using WeightMap = std::map<std::string, std::string, std::less<>>;

/// Reads the text of model.safetensors.index.json: {"weight_map": {tensor: file}}; other keys are
/// skipped. A file is one plain name that ends in ".safetensors", so that none lies outside the
/// folder. kCorruptData names tensor and file, not the index itself.
Result<WeightMap> ParseSafetensorsIndex(std::string_view text);

}  // namespace lattice::weights
