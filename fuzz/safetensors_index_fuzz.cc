#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lattice/check.h"
#include "weights/safetensors_index.h"

// No accepted file name may leave the model's folder.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto map =
      lattice::weights::ParseSafetensorsIndex({reinterpret_cast<const char*>(data), size});
  if (!map) return 0;
  LATTICE_CHECK(!map->empty());
  for (const auto& [tensor, file] : *map) {
    LATTICE_CHECK(file.ends_with(".safetensors"));
    LATTICE_CHECK(file.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos);
  }
  return 0;
}
