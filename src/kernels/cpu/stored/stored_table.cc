#include "kernels/cpu/stored/stored_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "numeric/quantise_blocks.h"

namespace lattice::kernels {

Result<StoredTable> StoredTable::Make(const HostTensor& table) {
  LATTICE_TRY(StoredMatrix matrix, StoredMatrix::Make(table));
  if (table.store_as && table.cols % LayoutOf(*table.store_as).elements != 0) {
    return Error{ErrorCode::kInvalidArgument, "rows of " + std::to_string(table.cols) +
                                                  " values are not whole blocks of " +
                                                  std::string(DtypeName(*table.store_as))};
  }
  const bool rounded = table.store_as && *table.store_as != table.dtype;
  return StoredTable(std::move(matrix), rounded ? table.store_as : std::nullopt);
}

void StoredTable::ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const {
  WidenPartToF32(matrix_.dtype(), {matrix_.row(i), matrix_.row_bytes()}, begin, out);
  if (!rounded_to_) return;
  // Not so for a NaN either.
  const bool fits = std::ranges::all_of(out, [](float v) { return std::abs(v) <= 65504.0f; });
  if (!fits) return;
  std::array<std::byte, kPiece * 2> memory;  // no format takes more than 9 bits a value
  const std::span<std::byte> blocks =
      std::span(memory).first(StorageBytes(*rounded_to_, out.size()));
  QuantiseBlocks(*rounded_to_, out, blocks);
  WidenToF32(*rounded_to_, blocks, out);
}

}  // namespace lattice::kernels
