#include <cstddef>
#include <cstdint>
#include <span>

#include "lattice/check.h"
#include "weights/gguf_header.h"
#include "weights/safetensors_header.h"

namespace {

using lattice::weights::GgufEntry;
using lattice::weights::GgufMetadata;

// Every key may be asked for as every type.
void ReadAll(const GgufMetadata& metadata) {
  for (const auto& [key, value] : metadata.values()) {
    const bool integer = metadata.GetUint(key).has_value() || metadata.GetInt(key).has_value();
    LATTICE_CHECK(!integer || !metadata.GetFloat(key).has_value());
    LATTICE_CHECK(metadata.GetString(key).has_value() ==
                  (value.type == lattice::weights::GgufType::kString));
    (void)metadata.GetBool(key).has_value();
    (void)metadata.GetInts(key).has_value();
    (void)metadata.GetFloats(key).has_value();
    (void)metadata.GetBools(key).has_value();
    (void)metadata.GetBytes(key).has_value();
    (void)metadata.GetUintPerLayer(key, 4).has_value();
    const auto strings = metadata.GetStrings(key);
    if (!strings) continue;
    std::size_t n = 0, n_bytes = 0;
    for (const std::string_view text : *strings) {
      ++n;
      n_bytes += 8 + text.size();
    }
    LATTICE_CHECK(n == strings->size() && n_bytes == value.bytes.size());
  }
}

}  // namespace

// Whatever is accepted must be true: tensors lie in the file, one after the other, aligned, and
// have the size that their shape says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = lattice::weights::ParseGgufHeader(file);
  if (!header) {
    LATTICE_CHECK(!header.error().message.empty());
    return 0;
  }
  std::size_t end = 0;
  for (const GgufEntry& entry : header->entries) {
    LATTICE_CHECK(entry.begin >= end && entry.begin % header->alignment == 0);
    LATTICE_CHECK(entry.end >= entry.begin && entry.end <= size);
    LATTICE_CHECK(lattice::weights::TensorBytes(entry.dtype, entry.shape) ==
                  entry.end - entry.begin);
    end = entry.end;
  }
  ReadAll(header->metadata);
  return 0;
}
