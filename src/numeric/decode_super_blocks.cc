#include "numeric/decode_blocks.h"
#include "numeric/float16.h"

// Blocks of 256 elements: i = 128 n + 32 j + l, and groups of 16 or 32 elements with small scales.

namespace lattice {
namespace {

float Float(int q) { return static_cast<float>(q); }

struct ScaleAndMin {
  float scale;
  float min;
};

// Group g (0 to 7) of the twelve bytes that hold 8 scales and 8 minima of 6 bits: the first four of
// each as whole bytes, whose upper two bits belong to the last four.
ScaleAndMin GroupScale(const std::uint8_t (&s)[12], std::size_t g) {
  if (g < 4) return {Float(s[g] & 63), Float(s[g + 4] & 63)};
  return {Float((s[g + 4] & 15) | (s[g - 4] >> 6) << 4), Float(s[g + 4] >> 4 | (s[g] >> 6) << 4)};
}

}  // namespace

void DecodeBlock(const BlockQ2K& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d), dmin = F16ToF32(block.dmin);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, j = i % 128 / 32, l = i % 32;
    const int s = block.scales[i / 16];
    const int q = (block.qs[32 * n + l] >> (2 * j)) & 3;
    out[i] = (d * Float(s & 15)) * Float(q) - dmin * Float(s >> 4);
  }
}

void DecodeBlock(const BlockQ3K& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, j = i % 128 / 32, l = i % 32, k = i / 16;
    const int low = k < 8 ? block.scales[k] & 15 : block.scales[k - 8] >> 4;
    const int high = (block.scales[8 + k % 4] >> (2 * (k / 4))) & 3;
    const float scale = d * Float((low | high << 4) - 32);
    const int q = (block.qs[32 * n + l] >> (2 * j)) & 3;
    const bool has_high_bit = ((block.hmask[l] >> (4 * n + j)) & 1) != 0;
    out[i] = scale * Float(q - (has_high_bit ? 0 : 4));
  }
}

void DecodeBlock(const BlockQ4K& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d), dmin = F16ToF32(block.dmin);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t g = i / 32;
    const ScaleAndMin group = GroupScale(block.scales, g);
    const int byte = block.qs[32 * (i / 64) + i % 32];
    const int q = g % 2 == 0 ? byte & 15 : byte >> 4;
    out[i] = (d * group.scale) * Float(q) - dmin * group.min;
  }
}

void DecodeBlock(const BlockQ5K& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d), dmin = F16ToF32(block.dmin);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t g = i / 32;
    const ScaleAndMin group = GroupScale(block.scales, g);
    const int byte = block.qs[32 * (i / 64) + i % 32];
    const int high = ((block.qh[i % 32] >> g) & 1) << 4;
    const int q = (g % 2 == 0 ? byte & 15 : byte >> 4) | high;
    out[i] = (d * group.scale) * Float(q) - dmin * group.min;
  }
}

void DecodeBlock(const BlockQ6K& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, r = i % 128 / 32, l = i % 32;
    const int byte = block.ql[64 * n + 32 * (r % 2) + l];
    const int low = r < 2 ? byte & 15 : byte >> 4;
    const int high = (block.qh[32 * n + l] >> (2 * r)) & 3;
    out[i] = (d * Float(block.scales[i / 16])) * Float((low | high << 4) - 32);
  }
}

void DecodeBlock(const BlockIq4Xs& block, std::span<float, 256> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t g = i / 32, l = i % 32;
    const int low = (block.scales_l[g / 2] >> (4 * (g % 2))) & 15;
    const int high = (block.scales_h >> (2 * g)) & 3;
    const int byte = block.qs[16 * g + l % 16];
    const int code = l < 16 ? byte & 15 : byte >> 4;
    out[i] = (d * Float((low | high << 4) - 32)) * Float(kIq4Values[code]);
  }
}

}  // namespace lattice
