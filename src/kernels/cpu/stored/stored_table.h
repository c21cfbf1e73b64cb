#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/stored/stored_matrix.h"

namespace lattice::kernels {

/// A table that stays where it is, in the dtype of its file.
class StoredTable : public CpuTable {
 public:
  /// kInvalidArgument when rows are not whole blocks of the format to be rounded to; errors of
  /// StoredMatrix::Make.
  static Result<StoredTable> Make(const HostTensor& table);

  std::size_t rows() const override { return matrix_.rows(); }
  std::size_t cols() const override { return matrix_.cols(); }
  void ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const override;

 private:
  StoredTable(StoredMatrix matrix, std::optional<Dtype> rounded_to)
      : matrix_(std::move(matrix)), rounded_to_(rounded_to) {}

  StoredMatrix matrix_;
  std::optional<Dtype> rounded_to_;
};

}  // namespace lattice::kernels
