#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"

namespace lattice::kernels {

/// A matrix of weights that stays where it lies. Borrows the bytes.
class StoredMatrix {
 public:
  /// kInvalidArgument when the bytes are not those of the shape or of the order of rows.
  static Result<StoredMatrix> Make(const HostTensor& tensor);

  Dtype dtype() const { return dtype_; }
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t row_bytes() const { return row_bytes_; }
  /// Where row i begins, at any alignment.
  const std::byte* row(std::size_t i) const {
    return bytes_ + (order_.empty() ? i : order_[i]) * row_bytes_;
  }

 private:
  StoredMatrix() = default;
  Dtype dtype_ = Dtype::kF32;
  std::size_t rows_ = 0, cols_ = 0, row_bytes_ = 0;
  const std::byte* bytes_ = nullptr;
  std::vector<std::uint32_t> order_;  // empty: in order
};

}  // namespace lattice::kernels
