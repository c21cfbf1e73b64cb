#include <cstddef>
#include <cstdint>
#include <span>

#include "lattice/check.h"
#include "weights/safetensors_header.h"

// Whatever is accepted must be true: the tensors tile the data, and have the size their shape says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lattice::weights::TensorBytes;
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = lattice::weights::ParseSafetensorsHeader(file);
  if (!header) {
    LATTICE_CHECK(!header.error().message.empty());
    return 0;
  }
  std::size_t end = 0;
  for (const auto& entry : header->entries) {
    LATTICE_CHECK(entry.begin == end);
    LATTICE_CHECK(TensorBytes(entry.dtype, entry.shape) == entry.end - entry.begin);
    end = entry.end;
  }
  LATTICE_CHECK(header->data_begin + end == size);
  return 0;
}
