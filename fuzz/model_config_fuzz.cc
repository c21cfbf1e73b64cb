#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "lattice/check.h"
#include "models/families.h"

// Any JSON as the config.json of every family: an error or sizes within bounds, never a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = lattice::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const lattice::JsonView config(*json, "config.json: ");
  (void)lattice::models::FindFamily(config).has_value();
  for (const auto& family : lattice::models::Families()) {
    const auto described = family.describe(config);
    if (!described) continue;
    const auto& info = described->info;
    LATTICE_CHECK(info.vocab > 0 && info.hidden > 0 && info.n_layers > 0);
    LATTICE_CHECK(info.max_tokens > 0);
    LATTICE_CHECK(described->state.layers.empty() ||
                  described->state.layers.size() == info.n_layers);
  }
  return 0;
}
