#pragma once

#include <string>

#include "lattice/result.h"
#include "vectors/csv.h"

namespace lattice::apps {

/// A table of numbers: a NumPy file by its name (.npy: f32, f16, i8 or u8), else text as
/// vectors::ParseCsv reads it. Errors name the file; kResourceExhausted above 2 GiB of text.
Result<vectors::CsvMatrix> ReadNumberTable(const std::string& file);

}  // namespace lattice::apps
