#include "weights/gguf_split.h"

#include <utility>
#include <vector>

namespace lattice::weights {
namespace {

constexpr std::size_t kMaxParts = 99'999;  // what five digits can name

std::string FiveDigits(std::size_t n) {
  const std::string digits = std::to_string(n);
  return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
}

}  // namespace

Result<GgufSplit> ReadGgufSplit(const GgufMetadata& metadata) {
  GgufSplit split;
  LATTICE_TRY(split.count, metadata.UintOr("split.count", 1));
  LATTICE_TRY(split.number, metadata.UintOr("split.no", 0));
  if (split.count == 0) split.count = 1;  // Some writers' way to say that there are no parts.
  if (split.count <= kMaxParts && split.number < split.count) return split;
  return Error{ErrorCode::kCorruptData, "key 'split.no' is " + std::to_string(split.number) +
                                            " where 'split.count' is " +
                                            std::to_string(split.count)};
}

std::string GgufPartEnding(std::size_t number, std::size_t count) {
  return "-" + FiveDigits(number + 1) + "-of-" + FiveDigits(count) + ".gguf";
}

Result<std::vector<std::filesystem::path>> GgufPartPaths(const std::filesystem::path& first,
                                                         const GgufSplit& split) {
  const std::string name = first.filename().string();
  const std::string ending = GgufPartEnding(split.number, split.count);
  const std::string which =
      "part " + std::to_string(split.number + 1) + " of " + std::to_string(split.count);
  if (!name.ends_with(ending)) {
    return Error{ErrorCode::kInvalidArgument,
                 first.string() + " is " + which + ", but its name does not end in " + ending};
  }
  const std::string stem = name.substr(0, name.size() - ending.size());
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; i < split.count; ++i) {
    paths.push_back(first.parent_path() / (stem + GgufPartEnding(i, split.count)));
  }
  if (split.number == 0) return paths;
  return Error{ErrorCode::kInvalidArgument, first.string() + " is " + which + "; open the first, " +
                                                paths[0].filename().string()};
}

}  // namespace lattice::weights
