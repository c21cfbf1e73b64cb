#pragma once

#include <filesystem>

#include "base/mapped_file.h"
#include "lattice/result.h"
#include "vectors/npy.h"

namespace lattice::vectors {

/// A NumPy file where it lies: `matrix` views `file`.
struct NpyFile {
  MappedFile file;
  NpyMatrix matrix;
};

/// Errors as MappedFile::Open and ParseNpy; the message names the file.
Result<NpyFile> OpenNpy(const std::filesystem::path& file);

}  // namespace lattice::vectors
