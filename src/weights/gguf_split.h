#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "lattice/result.h"
#include "weights/gguf_metadata.h"

namespace lattice::weights {

/// Where a file stands in a model that was split into several.
struct GgufSplit {
  std::size_t number = 0;  ///< 0-based.
  std::size_t count = 1;
};

/// From the keys split.no and split.count; the default where they are absent.
Result<GgufSplit> ReadGgufSplit(const GgufMetadata& metadata);

/// "-00002-of-00005.gguf", how the name of that part ends.
std::string GgufPartEnding(std::size_t number, std::size_t count);

/// The paths of all parts, given that of the first. kInvalidArgument when `first` is another part,
/// or its name does not say what `split` does.
Result<std::vector<std::filesystem::path>> GgufPartPaths(const std::filesystem::path& first,
                                                         const GgufSplit& split);

}  // namespace lattice::weights
