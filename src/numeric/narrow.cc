#include "numeric/narrow.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "lattice/check.h"
#include "numeric/float16.h"
#include "numeric/quantise_blocks.h"

namespace lattice {
namespace {

constexpr float kLargestF16 = 65504;

template <typename Convert>
void Narrow16(std::span<const float> values, std::span<std::byte> out, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = convert(values[i]);
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace

bool CanNarrow(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBf16 ||
         CanQuantise(dtype);
}

std::optional<std::size_t> FindUnstorable(Dtype dtype, std::span<const float> values) {
  const bool wide = dtype == Dtype::kF32 || dtype == Dtype::kBf16;
  const float largest = wide ? std::numeric_limits<float>::max() : kLargestF16;
  const auto unstorable = [&](float v) { return !(std::fabs(v) <= largest); };  // NaN too
  const auto found = std::ranges::find_if(values, unstorable);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

void NarrowFromF32(Dtype dtype, std::span<const float> values, std::span<std::byte> out) {
  LATTICE_CHECK(out.size() == StorageBytes(dtype, values.size()));
  switch (dtype) {
    case Dtype::kF32:
      if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
      return;
    case Dtype::kF16:
      return Narrow16(values, out, F32ToF16);
    case Dtype::kBf16:
      return Narrow16(values, out, F32ToBf16);
    default:
      return QuantiseBlocks(dtype, values, out);
  }
}

}  // namespace lattice
