#include "kernels/cpu/cpu_buffer.h"

#include <algorithm>

#include "base/checked_math.h"
#include "lattice/check.h"

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
