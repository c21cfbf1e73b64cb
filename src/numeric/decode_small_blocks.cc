#include <bit>
#include <cstring>

#include "numeric/decode_blocks.h"
#include "numeric/float16.h"

namespace lattice {
namespace {

// Elements 0 to 15 are the low nibbles, 16 to 31 the high ones.
int Nibble(const std::uint8_t (&qs)[16], std::size_t i) {
  return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

int FifthBit(const std::uint8_t (&qh)[4], std::size_t i) {
  return ((qh[i / 8] >> (i % 8)) & 1) << 4;
}

float Float(int q) { return static_cast<float>(q); }

}  // namespace

void DecodeBlock(const BlockQ4_0& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * Float(Nibble(block.qs, i) - 8);
}

void DecodeBlock(const BlockQ4_1& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d), m = F16ToF32(block.m);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * Float(Nibble(block.qs, i)) + m;
}

void DecodeBlock(const BlockQ5_0& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = d * Float((Nibble(block.qs, i) | FifthBit(block.qh, i)) - 16);
  }
}

void DecodeBlock(const BlockQ5_1& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d), m = F16ToF32(block.m);
  for (std::size_t i = 0; i < 32; ++i) {
    out[i] = d * Float(Nibble(block.qs, i) | FifthBit(block.qh, i)) + m;
  }
}

void DecodeBlock(const BlockQ8_0& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * Float(block.qs[i]);
}

void DecodeBlock(const BlockIq4Nl& block, std::span<float, 32> out) {
  const float d = F16ToF32(block.d);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * Float(kIq4Values[Nibble(block.qs, i)]);
}

float Mxfp4Scale(std::uint8_t e) {
  const std::uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

void DecodeBlock(const BlockMxfp4& block, std::span<float, 32> out) {
  const float d = Mxfp4Scale(block.e);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * Float(kMxfp4Values[Nibble(block.qs, i)]);
}

void DecodeBlock(const BlockKhq4& block, std::span<float, 32> out) {
  const float scale = F16ToF32(block.scale), bias = F16ToF32(block.bias);
  for (std::size_t i = 0; i < 32; ++i) {
    const int q = (block.qs[i / 2] >> (4 * (i % 2))) & 15;
    out[i] = Float(q) * scale + bias;
  }
}

void DecodeBlock(const BlockKhq3& block, std::span<float, 32> out) {
  const float scale = F16ToF32(block.scale), bias = F16ToF32(block.bias);
  for (std::size_t i = 0; i < 32; ++i) {
    const int low = (block.low[i / 4] >> (2 * (i % 4))) & 3;
    const int high = (block.high[i / 8] >> (i % 8)) & 1;
    out[i] = Float(low | high << 2) * scale + bias;
  }
}

}  // namespace lattice
