#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "lattice/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf_header.h"
#include "weights/khq_index.h"

namespace lattice::weights {

/// Fills a Checkpoint, one method a format. Errors name the file.
class CheckpointLoader {
 public:
  Status AddSafetensors(const std::filesystem::path& path);
  Status AddSafetensorsShards(const std::filesystem::path& index);
  /// All parts, when `path` is the first of several.
  Status AddGguf(const std::filesystem::path& path);
  /// A folder of .q4, .q3 and .f16 files, with or without an index.
  Status AddKhqFolder(const std::filesystem::path& folder);
  static bool IsKhqFolder(const std::filesystem::path& folder);

  std::shared_ptr<const Checkpoint> Take() { return std::move(checkpoint_); }

 private:
  Status AddTensor(const std::filesystem::path& file, std::string name, TensorView view);
  Status CheckListed(const std::filesystem::path& index, std::string_view shard,
                     std::span<const std::string_view> tensors) const;
  Result<GgufHeader> AddGgufFile(const std::filesystem::path& path);
  Status AddGgufParts(const std::filesystem::path& first, const GgufMetadata& metadata);
  Status AddKhqFile(const std::filesystem::path& path, const std::string& name,
                    const KhqIndexEntry* listed);

  std::shared_ptr<Checkpoint> checkpoint_{new Checkpoint()};
};

}  // namespace lattice::weights
