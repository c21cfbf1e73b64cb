#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lattice/check.h"
#include "models/weight_file_format.h"

namespace {

namespace models = lattice::models;
using models::WeightPiece;

void CheckPieces(std::span<const WeightPiece> pieces, std::size_t size) {
  for (const WeightPiece& piece : pieces) {
    LATTICE_CHECK(piece.offset >= models::kWeightFileStart);
    LATTICE_CHECK(piece.offset % models::kPieceAlignment == 0);
    LATTICE_CHECK(piece.offset <= size && piece.size <= size - piece.offset);
  }
}

/// The bytes as a table that is rightly sealed: its numbers must not be believed either.
void TrySealed(std::span<const std::byte> bytes) {
  std::vector<WeightPiece> pieces(bytes.size() / sizeof(WeightPiece));
  std::ranges::copy(bytes.first(pieces.size() * sizeof(WeightPiece)),
                    std::as_writable_bytes(std::span(pieces)).begin());
  constexpr std::size_t kTable = 8192;
  const models::WeightFileFrame frame = models::MakeWeightFileFrame(pieces, kTable, {});
  std::string file = frame.header;
  file.resize(kTable);
  file += frame.table;
  const auto parsed = models::ParseWeightFile(std::as_bytes(std::span(file)), {});
  if (!parsed) return;
  LATTICE_CHECK(std::ranges::equal(*parsed, pieces));
  CheckPieces(*parsed, file.size());
  static_cast<void>(models::CheckWeightFile(std::as_bytes(std::span(file))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto pieces = models::ParseWeightFile(bytes, {})) CheckPieces(*pieces, size);
  static_cast<void>(models::CheckWeightFile(bytes));
  TrySealed(bytes);
  return 0;
}
