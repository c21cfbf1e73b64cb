#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = lattice::ParseJson({reinterpret_cast<const char*>(data), size});
  if (value) {
    const lattice::JsonView view(*value, "fuzz: ");
    (void)view.IntOr("a", 0, -5, 5).has_value();
    (void)view.NumberOr("b", 0).has_value();
    (void)view.StringOr("c", "").has_value();
  }
  return 0;
}
