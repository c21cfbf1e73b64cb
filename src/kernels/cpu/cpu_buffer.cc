#include "kernels/cpu/cpu_buffer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked_math.h"
#include "lattice/check.h"
#include "numeric/quantise_blocks.h"

namespace lattice::kernels {

void CpuBuffer::Reshape(std::size_t rows, std::size_t cols) {
  const auto elements = CheckedMul(rows, cols);
  LATTICE_CHECK(elements.has_value());
  const auto size_bytes = CheckedMul(*elements, sizeof(float));
  LATTICE_CHECK(size_bytes.has_value());
  if (*size_bytes > memory_.size()) memory_ = AlignedBuffer(*size_bytes);
  rows_ = rows;
  cols_ = cols;
}

std::byte* CpuBuffer::Scratch(std::size_t size_bytes) {
  if (size_bytes > scratch_.size()) scratch_ = AlignedBuffer(size_bytes);
  return scratch_.data();
}

void CpuTable::ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const {
  WidenPartToF32(matrix_.dtype(), {matrix_.row(i), matrix_.row_bytes()}, begin, out);
  if (!rounded_to_) return;
  // Not so for a NaN either.
  const bool fits = std::ranges::all_of(out, [](float v) { return std::abs(v) <= 65504.0f; });
  if (!fits) return;
  std::array<std::byte, kPiece * 2> memory;  // no format takes more than 9 bits a value
  const std::span<std::byte> blocks =
      std::span(memory).first(StorageBytes(*rounded_to_, out.size()));
  QuantiseBlocks(*rounded_to_, out, blocks);
  WidenToF32(*rounded_to_, blocks, out);
}

const float* CpuVector::Transposed(std::size_t n) const {
  LATTICE_CHECK(n > 0 && values_.size() % n == 0);
  std::call_once(transposed_once_, [&] {
    const std::size_t rows = values_.size() / n;
    transposed_.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      transposed_[i % n * rows + i / n] = values_[i];
    }
  });
  return transposed_.data();
}

}  // namespace lattice::kernels
