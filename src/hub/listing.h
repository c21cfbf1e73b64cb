#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::hub {

/// One file that the hub offers.
struct HubFile {
  std::string path;  ///< Passes CheckFilePath.
  std::uint64_t size = 0;
  std::string sha256;    ///< Of files in large-file storage; else empty.
  std::string git_blob;  ///< Git's name of the blob; may be empty if there is a sha256.
};

/// The files of a model that the engine needs, at one commit.
struct HubListing {
  std::string commit;  ///< 40 hexadecimal digits.
  std::vector<HubFile> files;

  std::uint64_t size_bytes() const;
};

/// Reads the hub's answer to /api/models/ID/revision/REV?blobs=true and keeps what is needed to run
/// the model: configuration, tokenizer, module folders, safetensors (whole or sharded; never
/// pickles). A single .gguf file is taken where there is no safetensors.
///
/// Errors  kCorruptData: not JSON, no commit, names that leave the folder or collide, no size or
/// hash;
///         kUnsupported: no weights in a format that can be read safely.
Result<HubListing> ParseListing(std::string_view json, const std::string& model);

}  // namespace lattice::hub
