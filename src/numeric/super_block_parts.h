#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "numeric/float16.h"
#include "numeric/lanes.h"

namespace lattice {

/// A block on its way into 256 codes.
struct WeighedValues {
  alignas(16) std::array<float, 256> x;
  alignas(16) std::array<float, 256> w;  ///< How much the square of an error counts.
};

/// Below this everything is nearest to zero: the smallest step of a block is 2^-24.
inline constexpr float kLeastMagnitude = 0x1p-25f;

inline float LargestMagnitude(std::span<const float> values) {
  float largest = 0;
  for (const float v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

inline WeighedValues Weigh(std::span<const float, 256> values) {
  WeighedValues out;
  std::ranges::copy(values, out.x.begin());
  F4 squares = {};
  for (std::size_t i = 0; i < 256; i += 4) squares += Load4(&out.x[i]) * Load4(&out.x[i]);
  const float mean = std::sqrt(Total(squares) / 256);
  for (std::size_t i = 0; i < 256; ++i) out.w[i] = mean + std::fabs(out.x[i]);
  return out;
}

/// The f16 of a step of which at most `most` reach `largest`: rounded to nearest unless that falls
/// too short, as among subnormals. largest / most must not be beyond f16.
inline std::uint16_t StepFor(float largest, float most) {
  std::uint16_t bits = F32ToF16(largest / most);
  if (F16ToF32(bits) * (most + 0.5f) < largest) ++bits;
  return bits;
}

/// Zero where there is no step.
inline float Inverse(float step) { return step == 0 ? 0 : 1 / step; }

inline std::uint8_t NearestCode(float value, float most) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, most));
}

}  // namespace lattice
