#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lattice::tokenizers {

/// The token by which a vocabulary spells one byte of text that it has no other token for:
/// "<0x0A>".
inline std::string ByteTokenName(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

/// The byte that such a token spells, its digits in either case; absent for any other token.
inline std::optional<std::uint8_t> ByteOfTokenName(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(token[3]), low = digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<std::uint8_t>(high * 16 + low);
}

}  // namespace lattice::tokenizers
