#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/stored/packed_matrix.h"

namespace lattice::kernels {

/// The rows of a packed matrix, read one by one: an embedding table that is the output head, too.
class PackedTable : public CpuTable {
 public:
  /// `owner` keeps the matrix [rows, cols] alive.
  PackedTable(std::shared_ptr<const CpuLinear> owner, const PackedMatrix& matrix, std::size_t rows,
              std::size_t cols, const PackedBlocksFns& kernels)
      : owner_(std::move(owner)),
        matrix_(matrix),
        block_(BlockFormOf(matrix.format)),
        piece_bytes_(PackedPanelBytes(matrix.format, kPiece)),
        rows_(rows),
        cols_(cols),
        unpack_(kernels.unpack[static_cast<std::size_t>(matrix.format)]) {}

  std::size_t rows() const override { return rows_; }
  std::size_t cols() const override { return cols_; }
  void ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const override;

 private:
  std::shared_ptr<const CpuLinear> owner_;
  PackedMatrix matrix_;
  BlockForm block_;
  std::size_t piece_bytes_;
  std::size_t rows_, cols_;
  UnpackPackedFn unpack_;
};

}  // namespace lattice::kernels
