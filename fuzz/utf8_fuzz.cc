#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "lattice/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool all_valid = true;
  std::string rebuilt;
  for (std::string_view rest = text; !rest.empty();) {
    const lattice::Utf8Step step = lattice::DecodeUtf8(rest);
    LATTICE_CHECK(step.n_bytes >= 1 && step.n_bytes <= rest.size() && step.n_bytes <= 4);
    LATTICE_CHECK(step.scalar <= 0x10FFFF && (step.scalar < 0xD800 || step.scalar > 0xDFFF));
    LATTICE_CHECK(step.valid || step.scalar == 0xFFFD);
    std::string one;
    lattice::AppendUtf8(step.scalar, one);
    LATTICE_CHECK(!step.valid || one == rest.substr(0, step.n_bytes));
    rebuilt += one;
    all_valid = all_valid && step.valid;
    rest.remove_prefix(step.n_bytes);
  }
  LATTICE_CHECK(lattice::IsValidUtf8(text) == all_valid);
  LATTICE_CHECK(lattice::ToValidUtf8(text) == rebuilt);
  LATTICE_CHECK(lattice::IsValidUtf8(rebuilt));
  return 0;
}
