#pragma once

#include <bit>
#include <cstdint>

namespace lattice::decoding {

/// e^x for x <= 0, with a relative error below 2e-7; 0 below -87 and for -infinity. Without
/// branches or calls, so that loops over it become vector code.
inline float ExpNonPositive(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer below
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;
  const float y = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + exponent);
  return x < -87.0f ? 0.0f : y;
}

}  // namespace lattice::decoding
