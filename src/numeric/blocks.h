#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice {

// Blocks as they lie in files, little-endian. f16 fields hold bits. Files promise no alignment:
// copy a block out (memcpy) before reading its fields. What the fields mean: decode_blocks.h.

struct BlockQ4_0 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::uint8_t qs[16];
};

struct BlockQ4_1 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::uint16_t m;
  std::uint8_t qs[16];
};

struct BlockQ5_0 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::uint8_t qh[4];  // bit i of this u32: the fifth bit of element i
  std::uint8_t qs[16];
};

struct BlockQ5_1 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::uint16_t m;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};

struct BlockQ8_0 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::int8_t qs[32];
};

struct BlockQ2K {
  static constexpr std::size_t kElements = 256;
  std::uint8_t scales[16];  // of 16 elements: scale in the low nibble, minimum in the high one
  std::uint8_t qs[64];
  std::uint16_t d;
  std::uint16_t dmin;
};

struct BlockQ3K {
  static constexpr std::size_t kElements = 256;
  std::uint8_t hmask[32];
  std::uint8_t qs[64];
  std::uint8_t scales[12];  // 16 scales of 6 bits
  std::uint16_t d;
};

struct BlockQ4K {
  static constexpr std::size_t kElements = 256;
  std::uint16_t d;
  std::uint16_t dmin;
  std::uint8_t scales[12];  // 8 scales and 8 minima of 6 bits
  std::uint8_t qs[128];
};

struct BlockQ5K {
  static constexpr std::size_t kElements = 256;
  std::uint16_t d;
  std::uint16_t dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];
  std::uint8_t qs[128];
};

struct BlockQ6K {
  static constexpr std::size_t kElements = 256;
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  std::uint16_t d;
};

struct BlockIq4Nl {
  static constexpr std::size_t kElements = 32;
  std::uint16_t d;
  std::uint8_t qs[16];
};

struct BlockIq4Xs {
  static constexpr std::size_t kElements = 256;
  std::uint16_t d;
  std::uint16_t scales_h;  // 8 times the upper 2 bits of a scale
  std::uint8_t scales_l[4];
  std::uint8_t qs[128];
};

struct BlockMxfp4 {
  static constexpr std::size_t kElements = 32;
  std::uint8_t e;
  std::uint8_t qs[16];
};

struct BlockKhq4 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t scale;
  std::uint16_t bias;
  std::uint8_t qs[16];  // byte b: element 2b in the low nibble, 2b + 1 in the high one
};

struct BlockKhq3 {
  static constexpr std::size_t kElements = 32;
  std::uint16_t scale;
  std::uint16_t bias;
  std::uint8_t low[8];   // the lower two bits, element 4b in the lowest bits of byte b
  std::uint8_t high[4];  // the third bit, element 8b in the lowest bit of byte b
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 &&
              sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ2K) == 84 && sizeof(BlockQ3K) == 110 && sizeof(BlockQ4K) == 144 &&
              sizeof(BlockQ5K) == 176 && sizeof(BlockQ6K) == 210);
static_assert(sizeof(BlockIq4Nl) == 18 && sizeof(BlockIq4Xs) == 136 && sizeof(BlockMxfp4) == 17 &&
              sizeof(BlockKhq4) == 20 && sizeof(BlockKhq3) == 16);

}  // namespace lattice
