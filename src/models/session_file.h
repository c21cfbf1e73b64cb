#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "kernels/api/state.h"
#include "lattice/result.h"

namespace lattice::models {

/// A saved sequence, version 1, little-endian:
///   8 bytes  "LATTSEQ\n"
///   u32      version
///   u32      how keys and values are kept (kernels::KvType)
///   u64      tokens read
///   u32      bytes of the fingerprint, then these
///   u32      layers with a state, then for each u64 bytes and these: whole pages of keys and
///            values in rising order of positions, or a delta-net state, as the backend gives them
///   32 bytes SHA-256 of all that stands before
struct SessionHeader {
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::uint64_t n_tokens = 0;
  std::string fingerprint;
  std::uint32_t n_layers = 0;
};

struct Session {
  SessionHeader header;
  std::vector<std::span<const std::byte>> layers;  ///< Views of the file.
};

/// kCorruptData when the bytes are no such file, are cut off, or were changed; kUnsupported for
/// another version.
Result<Session> ParseSession(std::span<const std::byte> file);

/// Writes such a file piece by piece; it appears with Finish.
class SessionWriter {
 public:
  static Result<SessionWriter> Create(const std::filesystem::path& file,
                                      const SessionHeader& header);
  Status BeginLayer(std::uint64_t n_bytes);
  Status Append(std::span<const std::byte> bytes);
  Status Finish();

 private:
  explicit SessionWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  Sha256 digest_;
};

}  // namespace lattice::models
