#include "lattice/npy_rows.h"

#include <utility>

#include "vectors/npy_file.h"

namespace lattice {

Result<NpyRows> NpyRows::Open(const std::filesystem::path& file) {
  LATTICE_TRY(vectors::NpyFile npy, vectors::OpenNpy(file));
  const vectors::NpyMatrix& matrix = npy.matrix;
  if (matrix.dtype != Dtype::kF32) {
    return Error{ErrorCode::kUnsupported, file.string() +
                                              ": wanted f32; convert with NumPy: "
                                              "x.astype('<f4', order='C')"};
  }
  NpyRows rows;
  rows.dims_ = matrix.dims;
  rows.values_ = {reinterpret_cast<const float*>(matrix.data.data()), matrix.n_rows * matrix.dims};
  rows.file_ = std::make_shared<const MappedFile>(std::move(npy.file));
  return rows;
}

}  // namespace lattice
