#include "apps/number_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/files.h"
#include "numeric/dtype.h"
#include "vectors/npy_file.h"

namespace lattice::apps {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{2} << 30;

void Widen(Dtype dtype, std::span<const std::byte> data, std::span<float> out) {
  if (IsFloat(dtype)) return WidenToF32(dtype, data, out);
  std::ranges::transform(data, out.begin(), [&](std::byte b) {
    const auto value = std::to_integer<std::uint8_t>(b);
    const int number = dtype == Dtype::kU8 ? int{value} : int{static_cast<std::int8_t>(value)};
    return static_cast<float>(number);
  });
}

Result<vectors::CsvMatrix> ReadNpy(const std::string& file) {
  LATTICE_TRY(const vectors::NpyFile npy, vectors::OpenNpy(file));
  const vectors::NpyMatrix& matrix = npy.matrix;
  if (matrix.n_rows == 0) return Error{ErrorCode::kCorruptData, file + ": no rows of numbers"};
  vectors::CsvMatrix table;
  table.n_rows = matrix.n_rows;
  table.dims = matrix.dims;
  table.values.resize(matrix.n_rows * matrix.dims);
  Widen(matrix.dtype, matrix.data, table.values);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    if (std::isfinite(table.values[i])) continue;
    return Error{ErrorCode::kCorruptData, file + ": row " + std::to_string(i / table.dims + 1) +
                                              ", column " + std::to_string(i % table.dims + 1) +
                                              ": not a finite number"};
  }
  return table;
}

}  // namespace

Result<vectors::CsvMatrix> ReadNumberTable(const std::string& file) {
  if (file.ends_with(".npy")) return ReadNpy(file);
  LATTICE_TRY(const std::string text, ReadFile(file, kMostTextBytes));
  auto table = vectors::ParseCsv(text);
  if (!table) return std::move(table).error().Within(file);
  return table;
}

}  // namespace lattice::apps
