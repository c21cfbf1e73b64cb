#pragma once

#include <bit>
#include <cstdint>

namespace lattice {

/// bfloat16 -> f32, exact.
inline float Bf16ToF32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// f32 -> bfloat16, nearest even; a NaN stays a (quiet) NaN.
inline std::uint16_t F32ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// IEEE binary16 -> f32, exact.
float F16ToF32(std::uint16_t bits);

/// f32 -> IEEE binary16, nearest even, overflow to infinity; a NaN stays a (quiet) NaN.
std::uint16_t F32ToF16(float value);

/// OCP 8-bit floats -> f32, exact.
float F8E4M3ToF32(std::uint8_t bits);
float F8E5M2ToF32(std::uint8_t bits);

}  // namespace lattice
