#include "lattice/npy_rows.h"

#include <utility>

#include "base/mapped_file.h"
#include "vectors/npy.h"

namespace lattice {

Result<NpyRows> NpyRows::Open(const std::filesystem::path& file) {
  LATTICE_TRY(MappedFile mapped, MappedFile::Open(file));
  auto matrix = vectors::ParseNpy(mapped.bytes());
  if (!matrix) return std::move(matrix).error().Within(file.string());
  if (matrix->dtype != Dtype::kF32) {
    return Error{ErrorCode::kUnsupported, file.string() +
                                              ": wanted f32; convert with NumPy: "
                                              "x.astype('<f4', order='C')"};
  }
  NpyRows rows;
  rows.dims_ = matrix->dims;
  rows.values_ = {reinterpret_cast<const float*>(matrix->data.data()),
                  matrix->n_rows * matrix->dims};
  rows.file_ = std::make_shared<const MappedFile>(std::move(mapped));
  return rows;
}

}  // namespace lattice
