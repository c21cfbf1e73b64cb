#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)lattice::chat::jinja::Template::Parse({reinterpret_cast<const char*>(data), size})
      .has_value();
  return 0;
}
