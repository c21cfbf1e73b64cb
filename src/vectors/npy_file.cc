#include "vectors/npy_file.h"

#include <utility>

namespace lattice::vectors {

Result<NpyFile> OpenNpy(const std::filesystem::path& file) {
  LATTICE_TRY(MappedFile mapped, MappedFile::Open(file));
  auto matrix = ParseNpy(mapped.bytes());
  if (!matrix) return std::move(matrix).error().Within(file.string());
  return NpyFile{std::move(mapped), *matrix};
}

}  // namespace lattice::vectors
