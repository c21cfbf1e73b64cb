#include "apps/npy_file.h"

#include <utility>

namespace lattice::apps {

Result<NpyFile> OpenNpy(const std::string& name) {
  LATTICE_TRY(MappedFile file, MappedFile::Open(name));
  auto matrix = vectors::ParseNpy(file.bytes());
  if (!matrix) return std::move(matrix).error().Within(name);
  return NpyFile{std::move(file), *matrix};
}

}  // namespace lattice::apps
