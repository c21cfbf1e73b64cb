#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hub/file_paths.h"
#include "hub/listing.h"
#include "lattice/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto listing =
      lattice::hub::ParseListing({reinterpret_cast<const char*>(data), size}, "a/b");
  if (!listing) return 0;
  LATTICE_CHECK(listing->commit.size() == 40 && !listing->files.empty());
  for (const auto& file : listing->files) LATTICE_CHECK(lattice::hub::CheckFilePath(file.path));
  return 0;
}
