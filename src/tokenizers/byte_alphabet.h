#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace lattice::tokenizers {

namespace byte_alphabet {

constexpr bool StandsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

inline constexpr std::array<char16_t, 256> kScalars = [] {
  std::array<char16_t, 256> scalars{};
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    scalars[byte] = static_cast<char16_t>(StandsForItself(byte) ? byte : next++);
  }
  return scalars;
}();

inline constexpr std::array<std::int16_t, 0x100 + 68> kBytes = [] {
  std::array<std::int16_t, 0x100 + 68> bytes{};
  for (auto& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[kScalars[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}();

}  // namespace byte_alphabet

/// GPT-2's spelling of bytes by printable characters: printable Latin-1 stands for itself, the
/// other 68 bytes in rising order for U+0100, U+0101, ... (a space is 'Ġ', a line feed 'Ċ').
class ByteAlphabet {
 public:
  static constexpr char32_t ScalarOf(std::uint8_t byte) { return byte_alphabet::kScalars[byte]; }

  /// The byte that a character stands for; absent for one outside the alphabet.
  static constexpr std::optional<std::uint8_t> ByteOf(char32_t scalar) {
    if (scalar >= byte_alphabet::kBytes.size() || byte_alphabet::kBytes[scalar] < 0) {
      return std::nullopt;
    }
    return static_cast<std::uint8_t>(byte_alphabet::kBytes[scalar]);
  }
};

}  // namespace lattice::tokenizers
