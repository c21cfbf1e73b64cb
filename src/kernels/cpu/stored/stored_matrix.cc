#include "kernels/cpu/stored/stored_matrix.h"

#include "kernels/cpu/host_tensor.h"

namespace lattice::kernels {

Result<StoredMatrix> StoredMatrix::Make(const HostTensor& tensor) {
  LATTICE_TRY_VOID(CheckTensor(tensor, tensor.rows, tensor.cols, "weight"));
  StoredMatrix matrix;
  matrix.dtype_ = tensor.dtype;
  matrix.rows_ = tensor.rows;
  matrix.cols_ = tensor.cols;
  matrix.row_bytes_ = StorageBytes(tensor.dtype, tensor.cols);
  matrix.bytes_ = tensor.bytes.data();
  matrix.order_.assign(tensor.row_order.begin(), tensor.row_order.end());
  return matrix;
}

}  // namespace lattice::kernels
