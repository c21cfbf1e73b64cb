#include "models/weight_file_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace lattice::models {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "LATPACK\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kEntryBytes = 32;
constexpr std::size_t kIdentityAt = 32, kSealAt = 64;
constexpr std::size_t kHeaderBytes = kSealAt + sizeof(Sha256Digest);

template <typename T>
T NumberAt(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
void Append(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

Error Corrupt(std::string what) { return Error{ErrorCode::kCorruptData, std::move(what)}; }

Sha256Digest Seal(std::span<const std::byte> head, std::span<const std::byte> table) {
  Sha256 sha;
  sha.Update(head);
  sha.Update(table);
  return sha.Finish();
}

/// The table's bytes, behind a header that can be believed.
Result<std::span<const std::byte>> FindTable(std::span<const std::byte> file) {
  if (file.size() < kWeightFileStart) {
    return Corrupt("only " + std::to_string(file.size()) + " bytes");
  }
  if (std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    return Corrupt("not a file of packed weights");
  }
  if (const auto version = NumberAt<std::uint32_t>(file, 8); version != kVersion) {
    return Error{ErrorCode::kUnsupported,
                 "version " + std::to_string(version) + ", expected " + std::to_string(kVersion)};
  }
  const auto n_pieces = NumberAt<std::uint64_t>(file, 16);
  const auto table = NumberAt<std::uint64_t>(file, 24);
  const std::uint64_t most = file.size() / kEntryBytes;
  if (table < kWeightFileStart || table > file.size() || table % kPieceAlignment != 0 ||
      n_pieces > most || n_pieces * kEntryBytes != file.size() - table) {
    return Corrupt("a table of " + std::to_string(n_pieces) + " pieces at byte " +
                   std::to_string(table) + " of " + std::to_string(file.size()));
  }
  return file.subspan(static_cast<std::size_t>(table));
}

}  // namespace

Result<std::vector<WeightPiece>> ParseWeightFile(std::span<const std::byte> file,
                                                 const Sha256Digest& identity) {
  LATTICE_TRY(const std::span<const std::byte> table, FindTable(file));
  if (!std::ranges::equal(file.subspan(kIdentityAt, identity.size()), identity)) {
    return Error{ErrorCode::kInvalidArgument, "packed weights of something else"};
  }
  if (!std::ranges::equal(file.subspan(kSealAt, sizeof(Sha256Digest)),
                          Seal(file.first(kSealAt), table))) {
    return Corrupt("the seal is broken");
  }
  std::vector<WeightPiece> pieces(table.size() / kEntryBytes);
  const std::size_t table_offset = file.size() - table.size();
  std::uint64_t end = kWeightFileStart;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    WeightPiece& piece = pieces[i];
    const auto entry = table.subspan(i * kEntryBytes, kEntryBytes);
    piece = {NumberAt<std::uint64_t>(entry, 0), NumberAt<std::uint64_t>(entry, 8),
             NumberAt<std::uint64_t>(entry, 16), NumberAt<std::uint64_t>(entry, 24)};
    if (piece.offset < end || piece.offset % kPieceAlignment != 0 || piece.offset > table_offset ||
        piece.size > table_offset - piece.offset) {
      return Corrupt("piece " + std::to_string(i) + ": " + std::to_string(piece.size) +
                     " bytes at " + std::to_string(piece.offset));
    }
    end = piece.offset + piece.size;
  }
  return pieces;
}

WeightFileFrame MakeWeightFileFrame(std::span<const WeightPiece> pieces, std::size_t table_offset,
                                    const Sha256Digest& identity) {
  WeightFileFrame frame;
  for (const WeightPiece& piece : pieces) {
    for (const std::uint64_t value : {piece.tag, piece.offset, piece.size, piece.checksum}) {
      Append(value, frame.table);
    }
  }
  frame.header = kMagic;
  Append(kVersion, frame.header);
  Append(std::uint32_t{0}, frame.header);
  Append(std::uint64_t{pieces.size()}, frame.header);
  Append(std::uint64_t{table_offset}, frame.header);
  const auto append = [&](const Sha256Digest& digest) {
    frame.header.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  };
  append(identity);
  append(Seal(std::as_bytes(std::span(frame.header)), std::as_bytes(std::span(frame.table))));
  LATTICE_CHECK(frame.header.size() == kHeaderBytes);
  return frame;
}

std::uint64_t WeightChecksum(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;  // odd: multiplying loses nothing
  constexpr std::size_t kLanes = 8;                       // hide the multiplication's latency
  std::uint64_t lanes[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto add = [&](std::size_t lane, std::uint64_t word) {
    lanes[lane] = std::rotl((lanes[lane] ^ word) * kFactor, 29);
  };
  const std::size_t n_words = bytes.size() / 8;
  std::size_t i = 0;
  for (; i + kLanes <= n_words; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      add(lane, NumberAt<std::uint64_t>(bytes, (i + lane) * 8));
    }
  }
  for (; i < n_words; ++i) add(i % kLanes, NumberAt<std::uint64_t>(bytes, i * 8));
  std::uint64_t rest = 0;
  if (bytes.size() % 8 != 0) std::memcpy(&rest, bytes.data() + n_words * 8, bytes.size() % 8);
  std::uint64_t sum = bytes.size();
  for (const std::uint64_t lane : lanes) sum = std::rotl((sum ^ lane) * kFactor, 29);
  sum = (sum ^ rest) * kFactor;
  return sum ^ (sum >> 32);
}

Status CheckWeightFile(std::span<const std::byte> file) {
  LATTICE_TRY_VOID(FindTable(file));
  Sha256Digest identity;
  std::ranges::copy(file.subspan(kIdentityAt, identity.size()), identity.begin());
  LATTICE_TRY(const std::vector<WeightPiece> pieces, ParseWeightFile(file, identity));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto bytes = file.subspan(static_cast<std::size_t>(pieces[i].offset),
                                    static_cast<std::size_t>(pieces[i].size));
    if (WeightChecksum(bytes) == pieces[i].checksum) continue;
    return Corrupt("piece " + std::to_string(i) + " of " + std::to_string(pieces.size()) +
                   " was changed");
  }
  return Ok();
}

}  // namespace lattice::models
