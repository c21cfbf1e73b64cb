#include "kernels/cpu/stored/packed_matrix.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "numeric/quantise_blocks.h"

namespace lattice::kernels {
namespace {

// What QuantiseBlocks takes at most.
constexpr float kLargestValue = 65504.0f;

enum class Layout : std::uint8_t { kRows, kPanels };

// Tells pieces of one memory apart: FNV-1a over what decides on their bytes.
std::uint64_t TagOf(Layout layout, const StoredMatrix& matrix, Dtype dtype) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint64_t part :
       {kPackedVersion, static_cast<std::uint64_t>(layout), static_cast<std::uint64_t>(dtype),
        std::uint64_t{matrix.rows()}, std::uint64_t{matrix.cols()}}) {
    for (unsigned byte = 0; byte < 8; ++byte) {
      hash = (hash ^ ((part >> (8 * byte)) & 0xFFu)) * 0x100000001b3u;
    }
  }
  return hash;
}

Status CheckKeptAs(const StoredMatrix& matrix, Dtype dtype) {
  if (matrix.dtype() != dtype && !CanQuantise(dtype)) {
    return Error{ErrorCode::kUnsupported,
                 "weights cannot be quantised to " + std::string(DtypeName(dtype))};
  }
  const std::size_t block = LayoutOf(dtype).elements;
  if (matrix.cols() % block == 0) return Ok();
  return Error{ErrorCode::kInvalidArgument, "rows of " + std::to_string(matrix.cols()) +
                                                " weights are not whole blocks of " +
                                                std::string(DtypeName(dtype))};
}

// Makes row after row of a matrix in another format.
class RowQuantiser {
 public:
  RowQuantiser(const StoredMatrix& matrix, Dtype dtype)
      : matrix_(matrix), dtype_(dtype), values_(matrix.cols()) {}

  // Row i as blocks; false when its values have none.
  bool Run(std::size_t i, std::span<std::byte> out) {
    WidenToF32(matrix_.dtype(), {matrix_.row(i), matrix_.row_bytes()}, values_);
    const bool fits = std::ranges::all_of(
        values_, [](float v) { return std::abs(v) <= kLargestValue; });  // not so for a NaN
    if (fits) QuantiseBlocks(dtype_, values_, out);
    return fits;
  }

 private:
  const StoredMatrix& matrix_;
  Dtype dtype_;
  std::vector<float> values_;
};

Error BadValues() {
  return Error{ErrorCode::kCorruptData, "a weight is not finite, or too large for its blocks"};
}

}  // namespace

Result<PackedMatrix> PackMatrix(ThreadPool& pool, WeightMemory& memory, const StoredMatrix& matrix,
                                Dtype dtype) {
  LATTICE_TRY_VOID(CheckKeptAs(matrix, dtype));
  PackedMatrix packed;
  packed.format = PackedFormatOf(dtype);
  const std::size_t k = matrix.cols();
  packed.panel_bytes = PackedPanelBytes(packed.format, k);
  const std::size_t n_panels = (matrix.rows() + kBlockPanelOutputs - 1) / kBlockPanelOutputs;
  LATTICE_TRY(const WeightMemory::Piece piece,
              memory.Take(n_panels * packed.panel_bytes, TagOf(Layout::kPanels, matrix, dtype)));
  packed.panels = piece.bytes.data();
  if (piece.is_filled) return packed;

  const bool as_stored = matrix.dtype() == dtype;
  const std::size_t row_bytes = StorageBytes(dtype, k);
  std::atomic<bool> fits{true};
  pool.ParallelFor(n_panels, 1, [&](std::size_t begin, std::size_t end) {
    RowQuantiser quantiser(matrix, dtype);
    std::vector<std::byte> blocks(as_stored ? 0 : kBlockPanelOutputs * row_bytes);
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t first = p * kBlockPanelOutputs;
      const std::size_t n = std::min(kBlockPanelOutputs, matrix.rows() - first);
      std::array<const std::byte*, kBlockPanelOutputs> rows;
      for (std::size_t r = 0; r < n; ++r) {
        rows[r] = matrix.row(first + r);
        if (as_stored) continue;
        const auto row = std::span(blocks).subspan(r * row_bytes, row_bytes);
        if (!quantiser.Run(first + r, row)) fits = false;
        rows[r] = row.data();
      }
      PackPanel(dtype, {rows.data(), n}, k, piece.bytes.data() + p * packed.panel_bytes);
    }
  });
  if (!fits) return BadValues();
  return packed;
}

Result<StoredMatrix> QuantiseMatrix(ThreadPool& pool, WeightMemory& memory,
                                    const StoredMatrix& matrix, Dtype dtype) {
  LATTICE_TRY_VOID(CheckKeptAs(matrix, dtype));
  const std::size_t row_bytes = StorageBytes(dtype, matrix.cols());
  const std::size_t size_bytes = matrix.rows() * row_bytes;
  LATTICE_TRY(const WeightMemory::Piece piece,
              memory.Take(size_bytes, TagOf(Layout::kRows, matrix, dtype)));
  std::atomic<bool> fits{true};
  if (!piece.is_filled) {
    pool.ParallelFor(matrix.rows(), 1, [&](std::size_t begin, std::size_t end) {
      RowQuantiser quantiser(matrix, dtype);
      for (std::size_t i = begin; i < end; ++i) {
        if (!quantiser.Run(i, piece.bytes.subspan(i * row_bytes, row_bytes))) fits = false;
      }
    });
  }
  if (!fits) return BadValues();
  return StoredMatrix::Make({.dtype = dtype,
                             .rows = matrix.rows(),
                             .cols = matrix.cols(),
                             .bytes = piece.bytes.first(size_bytes)});
}

}  // namespace lattice::kernels
