#include "base/utf8.h"

#include <cstring>

namespace lattice {
namespace {
constexpr char32_t kReplacement = 0xFFFD;

// Well-formed range of the second byte for each lead byte; later bytes are 80..BF.
struct Lead {
  std::uint32_t n_bytes;
  unsigned char low, high;
};

Lead Classify(unsigned char b) {
  if (b < 0x80) return {1, 0, 0};
  if (b >= 0xC2 && b <= 0xDF) return {2, 0x80, 0xBF};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};
  if (b >= 0xE1 && b <= 0xEF) return {3, 0x80, 0xBF};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b >= 0xF1 && b <= 0xF3) return {4, 0x80, 0xBF};
  if (b == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step DecodeUtf8(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const Lead kind = Classify(lead);
  if (kind.n_bytes == 1) return {lead, 1, true};
  if (kind.n_bytes == 0) return {kReplacement, 1, false};
  char32_t scalar = lead & (0x7Fu >> kind.n_bytes);
  for (std::uint32_t i = 1; i < kind.n_bytes; ++i) {
    if (i >= text.size()) return {kReplacement, i, false};
    const auto b = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? kind.low : 0x80;
    const unsigned char high = i == 1 ? kind.high : 0xBF;
    if (b < low || b > high) return {kReplacement, i, false};
    scalar = (scalar << 6) | (b & 0x3F);
  }
  return {scalar, kind.n_bytes, true};
}

void AppendUtf8(char32_t scalar, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (scalar < 0x80) {
    put(scalar);
  } else if (scalar < 0x800) {
    put(0xC0 | (scalar >> 6));
    put(0x80 | (scalar & 0x3F));
  } else if (scalar < 0x10000) {
    put(0xE0 | (scalar >> 12));
    put(0x80 | ((scalar >> 6) & 0x3F));
    put(0x80 | (scalar & 0x3F));
  } else {
    put(0xF0 | (scalar >> 18));
    put(0x80 | ((scalar >> 12) & 0x3F));
    put(0x80 | ((scalar >> 6) & 0x3F));
    put(0x80 | (scalar & 0x3F));
  }
}

std::size_t AsciiPrefixLength(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t n = 0;
  for (std::uint64_t word = 0; n + 8 <= text.size(); n += 8) {
    std::memcpy(&word, text.data() + n, 8);
    if ((word & kHighBits) != 0) break;
  }
  while (n < text.size() && static_cast<unsigned char>(text[n]) < 0x80) ++n;
  return n;
}

bool IsValidUtf8(std::string_view text) {
  for (text.remove_prefix(AsciiPrefixLength(text)); !text.empty();
       text.remove_prefix(AsciiPrefixLength(text))) {
    const Utf8Step step = DecodeUtf8(text);
    if (!step.valid) return false;
    text.remove_prefix(step.n_bytes);
  }
  return true;
}

std::string ToValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = DecodeUtf8(text);
    AppendUtf8(step.scalar, out);
    text.remove_prefix(step.n_bytes);
  }
  return out;
}

}  // namespace lattice
