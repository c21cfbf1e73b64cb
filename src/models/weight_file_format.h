#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "lattice/result.h"

namespace lattice::models {

/// A file of packed weights, version 1, little-endian:
///   8 bytes  "LATPACK\n"
///   u32      version
///   u32      0
///   u64      number of pieces
///   u64      offset of the table, a multiple of 64
///   32 bytes identity: of the model's files, and of how they are packed
///   32 bytes seal: SHA-256 of all that stands before and of the table
///   zeros up to byte 4096, then the pieces, each at a multiple of 64, in order; then the table, to
///   the end of the file, for each piece: u64 tag, u64 offset, u64 bytes, u64 checksum
///
/// The seal is looked at whenever the file is opened, and no offset is believed. The pieces'
/// checksums would mean to read the whole file, so CheckWeightFile alone looks at them: what a
/// kernel reads of damaged pieces is wrong numbers, never other memory.
struct WeightPiece {
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  ///< WeightChecksum of its bytes.

  friend bool operator==(const WeightPiece&, const WeightPiece&) = default;
};

inline constexpr std::size_t kWeightFileStart = 4096;  ///< Of the first piece.
inline constexpr std::size_t kPieceAlignment = 64;

/// kCorruptData when the bytes are no such file, are cut off, or were changed; kUnsupported for
/// another version; kInvalidArgument when it is a file of another identity.
Result<std::vector<WeightPiece>> ParseWeightFile(std::span<const std::byte> file,
                                                 const Sha256Digest& identity);

/// What stands in the file's first bytes and behind its pieces, at `table_offset`.
struct WeightFileFrame {
  std::string header, table;
};
WeightFileFrame MakeWeightFileFrame(std::span<const WeightPiece> pieces, std::size_t table_offset,
                                    const Sha256Digest& identity);

/// Tells changed bytes, by chance once in 2^64; no defence against malice.
std::uint64_t WeightChecksum(std::span<const std::byte> bytes);

/// Looks at every byte of such a file, of any identity. Errors as ParseWeightFile's.
Status CheckWeightFile(std::span<const std::byte> file);

}  // namespace lattice::models
