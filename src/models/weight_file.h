#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "base/mapped_output.h"
#include "base/sha256.h"
#include "kernels/api/weight_memory.h"
#include "models/weight_file_format.h"

namespace lattice::models {

/// Packed weights that lie in a file: mapped as an earlier start left them, or made by this one and
/// left to the next. Never fails for the file's sake: what cannot be kept there is kept in this
/// process's memory.
///
/// A new file is filled through its mapping, so that packed weights are in memory once, and gets
/// its name when it is whole. Of two processes that make it at the same time the last one's stays.
class WeightFile final : public kernels::WeightMemory {
 public:
  struct Place {
    std::filesystem::path file;  ///< In a folder that is there.
    Sha256Digest identity = {};
    std::size_t max_bytes = 0;  ///< More than all pieces will take; 0: keep none in a file.
  };

  static std::unique_ptr<WeightFile> Open(Place place);
  ~WeightFile() override;  ///< Waits for Finish's work.

  Result<Piece> Take(std::size_t size_bytes, std::uint64_t tag) override;

  /// All pieces were taken and filled. A new file is then completed, synced and named by a thread
  /// of its own. `named` runs on it when that went well.
  void Finish(std::function<void()> named);

  enum class Use : std::uint8_t { kRead, kMade, kNone };
  Use use() const { return use_; }
  /// Why nothing is kept in a file; empty otherwise.
  const std::string& why_not() const { return why_not_; }

 private:
  explicit WeightFile(Place place) : place_(std::move(place)) {}
  bool OpenMade();
  void Create();
  Result<std::span<std::byte>> NextOfFile(std::size_t size_bytes);
  void GiveUp(std::string why);
  Status Complete();

  Place place_;
  Use use_ = Use::kNone;
  std::string why_not_;
  std::vector<WeightPiece> pieces_;     // of the file that is read, or so far of the new one
  std::size_t n_taken_ = 0;             // of those that are read
  std::optional<MappedFile> made_;      // stays mapped whatever `use_` becomes
  std::optional<MappedOutput> output_;  // the same
  kernels::ProcessWeightMemory process_;
  std::jthread finisher_;
};

}  // namespace lattice::models
