#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lattice/check.h"
#include "weights/khq_index.h"

// No accepted entry can name a file outside its folder.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = lattice::weights::ParseKhqIndex(text);
  if (!index) {
    LATTICE_CHECK(!index.error().message.empty());
    return 0;
  }
  LATTICE_CHECK(!index->entries.empty());
  for (const auto& entry : index->entries) {
    LATTICE_CHECK(!entry.name.empty());
    LATTICE_CHECK(entry.file.find_first_of("/\\:") == std::string::npos);
    LATTICE_CHECK(entry.quantised != entry.file.ends_with(".f16"));
  }
  return 0;
}
