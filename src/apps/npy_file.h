#pragma once

#include <string>

#include "base/mapped_file.h"
#include "lattice/result.h"
#include "vectors/npy.h"

namespace lattice::apps {

/// A NumPy file where it lies: `matrix` views `file`.
struct NpyFile {
  MappedFile file;
  vectors::NpyMatrix matrix;
};

/// Errors as MappedFile::Open and vectors::ParseNpy; the message names the file.
Result<NpyFile> OpenNpy(const std::string& name);

}  // namespace lattice::apps
