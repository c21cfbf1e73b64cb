#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lattice/check.h"
#include "vectors/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto matrix = lattice::vectors::ParseCsv(text)) {
    LATTICE_CHECK(matrix->values.size() == matrix->n_rows * matrix->dims);
    LATTICE_CHECK(matrix->names.empty() || matrix->names.size() == matrix->dims);
  }
  return 0;
}
