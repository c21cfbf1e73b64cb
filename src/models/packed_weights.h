#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/sha256.h"
#include "models/binder.h"
#include "models/model.h"
#include "models/weight_file.h"

namespace lattice::models {

/// Where the packed weights of a model are kept for the next start.
struct PackedPlace {
  std::filesystem::path file;  ///< Empty: nothing has to be packed.
  Sha256Digest identity = {};
  std::uint64_t packed_bytes = 0;  ///< About what they take.
};

/// The source's fingerprint tells what the weights are and how they are computed with. Size and
/// time of change of the files count beside it, not their names: a model that was moved finds its
/// packed weights.
PackedPlace PlaceOfPacked(const ModelSource& source, const std::filesystem::path& weight_cache);

/// About what a tensor takes when float matrices are kept as `weights`; absent: as in the file.
std::uint64_t KeptBytes(const weights::TensorView& tensor, std::optional<Dtype> weights);

/// Maps what an earlier start left in the folder, or makes room for it there. Without a folder, or
/// room: memory of this process.
std::shared_ptr<WeightFile> OpenPacked(const ModelSource& source,
                                       const std::filesystem::path& weight_cache);

}  // namespace lattice::models
