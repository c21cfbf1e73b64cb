#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "lattice/result.h"

namespace lattice {

/// A large file that is filled through a mapping, so that its bytes are in memory once, and moved
/// to its place whole: readers see the old file or the new. Move-only; without Commit nothing
/// remains on disk. While it is written, its temporary file is locked (flock):
/// RemoveAbandonedOutputs knows by that which ones nobody will finish.
///
/// Disk space is taken before bytes can be written to, so a full disk is an error here and not the
/// end of the process (SIGBUS).
class MappedOutput {
 public:
  /// Address space for `max_bytes` is reserved at once. kInvalidArgument when the folder may not be
  /// written or its file system maps no files, kResourceExhausted when disk, descriptors or
  /// addresses are used up. The same for the other calls.
  static Result<MappedOutput> Create(const std::filesystem::path& file, std::size_t max_bytes);

  MappedOutput(MappedOutput&& other) noexcept { Swap(other); }
  MappedOutput& operator=(MappedOutput&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~MappedOutput();

  /// The next `n_bytes` of the file: zeros, to be filled by the caller, who may do so until Commit.
  /// The address stays while the object lives.
  Result<std::span<std::byte>> Extend(std::size_t n_bytes);

  /// All that Extend gave.
  std::span<std::byte> bytes() { return {data_, size_}; }

  /// Syncs, renames, syncs the folder. The mapping stays, only to be read.
  Status Commit();
  /// Removes the temporary file; the mapping stays.
  void Discard();

 private:
  MappedOutput() = default;
  void Swap(MappedOutput& other) noexcept;
  Status Allocate(std::size_t end);

  std::filesystem::path file_;
  std::string temporary_;  // empty: nothing of it is left
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t reserved_ = 0;   // addresses
  std::size_t allocated_ = 0;  // on disk
  std::size_t size_ = 0;
};

/// Removes the temporary files in `folder` whose writers are gone.
void RemoveAbandonedOutputs(const std::filesystem::path& folder);

}  // namespace lattice
