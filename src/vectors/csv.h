#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lattice/result.h"

namespace lattice::vectors {

/// A matrix in text, row-major.
struct CsvMatrix {
  std::vector<float> values;
  std::size_t n_rows = 0, dims = 0;     ///< Both above 0.
  std::vector<std::string> names = {};  ///< [dims], or none where the text has none.
};

/// Lines of numbers with commas between them. Spaces and quotation marks around a number and empty
/// lines do not count; the first line may be names, none of which begins as a number. kCorruptData
/// names the line and the column: not a finite f32, another number of columns than before, no rows.
Result<CsvMatrix> ParseCsv(std::string_view text);

}  // namespace lattice::vectors
