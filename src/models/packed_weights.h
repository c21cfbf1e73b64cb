#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/sha256.h"
#include "kernels/api/backend.h"
#include "kernels/api/weight_memory.h"
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

/// Tells a model's packed pieces apart by what they are made of: a tag names the place of the
/// matrices in the model's files and the order of their rows too. So a program that packs other
/// matrices, or the same ones in another order, finds no piece of the file its own.
class PiecesOf final : public kernels::WeightMemory {
 public:
  /// Both outlive it; pieces live as long as `memory`.
  PiecesOf(const weights::Checkpoint& checkpoint, kernels::WeightMemory& memory)
      : checkpoint_(checkpoint), memory_(memory) {}

  /// What the next pieces are made of, in the order of calls.
  void Add(const kernels::HostTensor& matrix);
  Result<Piece> Take(std::size_t size_bytes, std::uint64_t tag) override;

 private:
  void Mix(std::uint64_t part);

  const weights::Checkpoint& checkpoint_;
  kernels::WeightMemory& memory_;
  std::uint64_t source_ = 0xcbf29ce484222325u;  // FNV-1a
};

/// Maps what an earlier start left in the folder, or makes room for it there. Without a folder, or
/// room: memory of this process.
std::shared_ptr<WeightFile> OpenPacked(const ModelSource& source,
                                       const std::filesystem::path& weight_cache);

}  // namespace lattice::models
