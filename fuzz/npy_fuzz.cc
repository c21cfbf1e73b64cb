#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/aligned_buffer.h"
#include "lattice/check.h"
#include "vectors/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lattice::AlignedBuffer memory(size + 1);
  const auto bytes = memory.As<std::byte>().first(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (const auto matrix = lattice::vectors::ParseNpy(bytes)) {
    const std::size_t n = matrix->n_rows * matrix->dims;
    LATTICE_CHECK(lattice::StorageBytes(matrix->dtype, n) == matrix->data.size());
  }
  return 0;
}
