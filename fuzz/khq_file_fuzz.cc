#include <cstddef>
#include <cstdint>
#include <span>

#include "lattice/check.h"
#include "weights/khq_file.h"

// Whatever is accepted must be true: the blocks of the shape fill the rest of the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = lattice::weights::ParseKhqFile(std::as_bytes(std::span(data, size)));
  if (!tensor) {
    LATTICE_CHECK(!tensor.error().message.empty());
    return 0;
  }
  std::size_t n = 1;
  for (const std::size_t d : tensor->shape) n *= d;
  const auto layout = lattice::LayoutOf(tensor->dtype);
  LATTICE_CHECK(n == tensor->n_elements);
  LATTICE_CHECK((n + layout.elements - 1) / layout.elements * layout.bytes == size - tensor->begin);
  return 0;
}
