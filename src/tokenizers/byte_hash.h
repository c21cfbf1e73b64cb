#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lattice::tokenizers {

/// A fast 64-bit hash of a short string; every bit depends on every byte. Not for hostile keys on
/// its own: tables built from files also bound the length of a probe.
inline std::uint64_t HashBytes(std::string_view text) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t hash = n * 0xD6E8FEB86659FD93u;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 29;
  };
  for (; n > 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    mix(word);
  }
  if (n >= 4) {  // Two overlapping reads cover 4 to 8 bytes.
    std::uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    mix(low | std::uint64_t{high} << 32);
  } else if (n > 0) {
    const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<std::uint8_t>(p[i])}; };
    mix(byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16);
  }
  hash *= 0xC2B2AE3D27D4EB4Fu;
  return hash ^ hash >> 32;
}

}  // namespace lattice::tokenizers
