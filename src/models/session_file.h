#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/function_ref.h"
#include "base/sha256.h"
#include "base/token_id.h"
#include "kernels/api/state.h"
#include "lattice/result.h"

namespace lattice::models {

/// A saved sequence, little-endian:
///   8 bytes  "LATTSEQ\n"
///   u32      version: 1, or 2 when what it alone has is told
///   u32      how keys and values are kept (kernels::KvType)
///   u64      tokens read
///   u64      version 2: of these, how many have their keys and values elsewhere; whole pages
///   u64      version 2: ids that follow, all that were read or none; each u32
///   u32      bytes of the fingerprint, then these
///   u32      layers with a state, then for each u64 bytes and these: whole pages of keys and
///            values in rising order of positions, or a delta-net state, as the backend gives them
///   32 bytes SHA-256 of all that stands before
///
/// Several in one file: "LATTSEQS", u32 version 1, then for each u64 bytes and these.
struct SessionHeader {
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::uint64_t n_tokens = 0;
  std::string fingerprint;
  std::uint32_t n_layers = 0;
  std::uint64_t n_elsewhere = 0;  ///< The first tokens, whose pages are not in the file.
  std::vector<TokenId> ids;       ///< n_tokens, or none: not told.
};

struct Session {
  SessionHeader header;
  std::vector<std::span<const std::byte>> layers;  ///< Views of the file.
};

/// kCorruptData when the bytes are no such file, are cut off, or were changed; kUnsupported for
/// another version.
Result<Session> ParseSession(std::span<const std::byte> file);

/// Views of the saved sequences in a file of several, none of which has been looked at.
/// kCorruptData, kUnsupported.
Result<std::vector<std::span<const std::byte>>> SplitSessions(std::span<const std::byte> file);

/// Appends a saved sequence to `file`, which must outlive it, piece by piece.
class SessionWriter {
 public:
  static Result<SessionWriter> Begin(AtomicFile& file, const SessionHeader& header);
  Status BeginLayer(std::uint64_t n_bytes);
  Status Append(std::span<const std::byte> bytes);
  /// Returns how many bytes it has appended altogether.
  Result<std::uint64_t> Finish();

 private:
  explicit SessionWriter(AtomicFile& file) : file_(&file) {}
  AtomicFile* file_;
  Sha256 digest_;
  std::uint64_t n_bytes_ = 0;
};

/// Writes several into one file, which appears with Finish.
class SessionsWriter {
 public:
  static Result<SessionsWriter> Create(const std::filesystem::path& file);
  /// `write` appends one saved sequence to the file and returns its bytes.
  Status Add(FunctionRef<Result<std::uint64_t>(AtomicFile&)> write);
  Status Finish() { return file_.Commit(); }

 private:
  explicit SessionsWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  std::uint64_t n_bytes_ = 0;
};

}  // namespace lattice::models
