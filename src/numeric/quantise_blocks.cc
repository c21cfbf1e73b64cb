#include "numeric/quantise_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lattice/check.h"
#include "numeric/blocks.h"
#include "numeric/float16.h"
#include "numeric/quantise_super_blocks.h"

namespace lattice {
namespace {

using Values = std::span<const float, 32>;

// Zero for a scale too small to be turned round: its f16 form is zero, and so is every value then.
float Inverse(float d) {
  const float inverse = d == 0 ? 0 : 1 / d;
  return std::isfinite(inverse) ? inverse : 0;
}

// Truncates a value that is not negative but for rounding, and stays within its code.
std::uint8_t Code(float value, float largest) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, largest));
}

// The value farthest from zero; of equals the first.
float Extreme(Values values) {
  float extreme = 0;
  for (const float v : values) {
    if (std::fabs(v) > std::fabs(extreme)) extreme = v;
  }
  return extreme;
}

std::uint8_t Nibbles(std::uint8_t low, std::uint8_t high) {
  return static_cast<std::uint8_t>((low & 15) | (high & 15) << 4);
}

void SetFifthBit(std::uint8_t (&qh)[4], std::size_t i, std::uint8_t code) {
  qh[i / 8] = static_cast<std::uint8_t>(qh[i / 8] | (code >> 4) << (i % 8));
}

void QuantiseBlock(Values values, BlockQ4_0& block) {
  const float d = Extreme(values) / -8;
  const float id = Inverse(d);
  block.d = F32ToF16(d);
  const auto code = [&](std::size_t i) { return Code(values[i] * id + 8.5f, 15); };
  for (std::size_t i = 0; i < 16; ++i) block.qs[i] = Nibbles(code(i), code(i + 16));
}

void QuantiseBlock(Values values, BlockQ4_1& block) {
  const auto [min, max] = std::ranges::minmax(values);
  const float d = (max - min) / 15;
  const float id = Inverse(d);
  block.d = F32ToF16(d);
  block.m = F32ToF16(min);
  const auto code = [&, min = min](std::size_t i) {
    return Code((values[i] - min) * id + 0.5f, 15);
  };
  for (std::size_t i = 0; i < 16; ++i) block.qs[i] = Nibbles(code(i), code(i + 16));
}

void QuantiseBlock(Values values, BlockQ5_0& block) {
  const float d = Extreme(values) / -16;
  const float id = Inverse(d);
  block.d = F32ToF16(d);
  const auto code = [&](std::size_t i) { return Code(values[i] * id + 16.5f, 31); };
  for (std::size_t i = 0; i < 16; ++i) block.qs[i] = Nibbles(code(i), code(i + 16));
  for (std::size_t i = 0; i < 32; ++i) SetFifthBit(block.qh, i, code(i));
}

void QuantiseBlock(Values values, BlockQ5_1& block) {
  const auto [min, max] = std::ranges::minmax(values);
  const float d = (max - min) / 31;
  const float id = Inverse(d);
  block.d = F32ToF16(d);
  block.m = F32ToF16(min);
  const auto code = [&, min = min](std::size_t i) {
    return Code((values[i] - min) * id + 0.5f, 31);
  };
  for (std::size_t i = 0; i < 16; ++i) block.qs[i] = Nibbles(code(i), code(i + 16));
  for (std::size_t i = 0; i < 32; ++i) SetFifthBit(block.qh, i, code(i));
}

void QuantiseBlock(Values values, BlockQ8_0& block) {
  const float d = std::fabs(Extreme(values)) / 127;
  const float id = Inverse(d);
  block.d = F32ToF16(d);
  for (std::size_t i = 0; i < 32; ++i) {
    block.qs[i] = static_cast<std::int8_t>(std::round(values[i] * id));
  }
}

template <typename Block>
void QuantiseAll(std::span<const float> values, std::span<std::byte> out) {
  constexpr std::size_t n = Block::kElements;
  for (std::size_t i = 0; i < values.size() / n; ++i) {
    Block block = {};
    QuantiseBlock(values.subspan(n * i).template first<n>(), block);
    std::memcpy(out.data() + i * sizeof(Block), &block, sizeof(Block));
  }
}

}  // namespace

bool CanQuantise(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0:
    case Dtype::kQ4_1:
    case Dtype::kQ5_0:
    case Dtype::kQ5_1:
    case Dtype::kQ8_0:
    case Dtype::kQ4K:
    case Dtype::kQ5K:
    case Dtype::kQ6K:
      return true;
    default:
      return false;
  }
}

void QuantiseBlocks(Dtype dtype, std::span<const float> values, std::span<std::byte> out) {
  LATTICE_CHECK(out.size() == StorageBytes(dtype, values.size()));
  switch (dtype) {
    case Dtype::kQ4_0:
      return QuantiseAll<BlockQ4_0>(values, out);
    case Dtype::kQ4_1:
      return QuantiseAll<BlockQ4_1>(values, out);
    case Dtype::kQ5_0:
      return QuantiseAll<BlockQ5_0>(values, out);
    case Dtype::kQ5_1:
      return QuantiseAll<BlockQ5_1>(values, out);
    case Dtype::kQ8_0:
      return QuantiseAll<BlockQ8_0>(values, out);
    case Dtype::kQ4K:
      return QuantiseAll<BlockQ4K>(values, out);
    case Dtype::kQ5K:
      return QuantiseAll<BlockQ5K>(values, out);
    case Dtype::kQ6K:
      return QuantiseAll<BlockQ6K>(values, out);
    default:
      LATTICE_CHECK(CanQuantise(dtype));
  }
}

}  // namespace lattice
