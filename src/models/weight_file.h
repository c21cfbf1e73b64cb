#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "kernels/api/weight_memory.h"
#include "models/weight_file_format.h"

namespace lattice::models {

/// Packed weights that lie in a file: mapped as an earlier start left them, or packed into this
/// process's memory by this one, which then writes the file for the next. Never fails for the
/// file's sake: it may be damaged, and the disk full or not ours.
///
/// Written, not filled through a mapping: large writes (AtomicFile's) give a file whose cached
/// pages are large, so that the next start maps it in a moment; and a full disk is an error, not a
/// signal.
class WeightFile final : public kernels::WeightMemory {
 public:
  /// `file` is the file's place, or is to be; empty: none is read or written.
  static std::unique_ptr<WeightFile> Open(std::filesystem::path file, const Sha256Digest& identity);
  ~WeightFile() override;  ///< Waits for Finish's work.

  Result<Piece> Take(std::size_t size_bytes, std::uint64_t tag) override;

  /// All pieces were taken and filled. What an earlier start did not leave is then written by a
  /// thread of its own. Of two processes that do so at the same time the last one's file stays.
  void Finish();

  bool is_read() const { return made_.has_value() && n_taken_ > 0; }

 private:
  /// A piece that the file is to have, where it lies until then.
  struct Filled {
    std::uint64_t tag = 0;
    std::span<const std::byte> bytes;
  };

  WeightFile(std::filesystem::path file, const Sha256Digest& identity)
      : file_(std::move(file)), identity_(identity) {}
  void OpenMade();
  Status Write() const;

  std::filesystem::path file_;
  Sha256Digest identity_;
  std::optional<MappedFile> made_;
  std::vector<WeightPiece> pieces_;  // of `made_`
  std::size_t n_taken_ = 0;          // of these
  std::vector<Filled> filled_;       // all pieces that were taken
  bool differs_ = true;              // from `made_`
  kernels::ProcessWeightMemory process_;
  std::jthread writer_;
};

}  // namespace lattice::models
