#include <cstring>

#include "kernels/cpu/unpack_blocks/unpack_blocks.h"
#include "lattice/check.h"
#include "numeric/blocks.h"
#include "numeric/decode_blocks.h"
#include "numeric/float16.h"

// The plain definition of the panels: one block of one row at a time.

namespace lattice::kernels {
namespace {

// A block as integers. Short blocks use the first groups only.
struct Integers {
  std::uint8_t q[256];
  float scale[16];
  float min[16];
};

std::uint8_t Byte(int q) { return static_cast<std::uint8_t>(q); }
float Float(int q) { return static_cast<float>(q); }

int Nibble(const std::uint8_t* qs, std::size_t i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }
int FifthBit(const std::uint8_t* qh, std::size_t i) { return ((qh[i / 8] >> (i % 8)) & 1) << 4; }

void Read(const BlockQ4_0& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(Nibble(b.qs, i));
}
void Read(const BlockQ4_1& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  out.min[0] = F16ToF32(b.m);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(Nibble(b.qs, i));
}
void Read(const BlockQ5_0& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(Nibble(b.qs, i) | FifthBit(b.qh, i));
}
void Read(const BlockQ5_1& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  out.min[0] = F16ToF32(b.m);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(Nibble(b.qs, i) | FifthBit(b.qh, i));
}
void Read(const BlockQ8_0& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(b.qs[i] + 128);
}
void Read(const BlockIq4Nl& b, Integers& out) {
  out.scale[0] = F16ToF32(b.d);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(kIq4Values[Nibble(b.qs, i)] + 128);
}
void Read(const BlockMxfp4& b, Integers& out) {
  out.scale[0] = Mxfp4Scale(b.e);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(kMxfp4Values[Nibble(b.qs, i)] + 16);
}
void Read(const BlockKhq4& b, Integers& out) {
  out.scale[0] = F16ToF32(b.scale);
  out.min[0] = F16ToF32(b.bias);
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte((b.qs[i / 2] >> (4 * (i % 2))) & 15);
}
void Read(const BlockKhq3& b, Integers& out) {
  out.scale[0] = F16ToF32(b.scale);
  out.min[0] = F16ToF32(b.bias);
  for (std::size_t i = 0; i < 32; ++i) {
    const int low = (b.low[i / 4] >> (2 * (i % 4))) & 3;
    const int high = (b.high[i / 8] >> (i % 8)) & 1;
    out.q[i] = Byte(low | high << 2);
  }
}

void Read(const BlockQ2K& b, Integers& out) {
  const float d = F16ToF32(b.d), dmin = F16ToF32(b.dmin);
  for (std::size_t g = 0; g < 16; ++g) {
    out.scale[g] = d * Float(b.scales[g] & 15);
    out.min[g] = -(dmin * Float(b.scales[g] >> 4));
  }
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, j = i % 128 / 32, l = i % 32;
    out.q[i] = Byte((b.qs[32 * n + l] >> (2 * j)) & 3);
  }
}
void Read(const BlockQ3K& b, Integers& out) {
  const float d = F16ToF32(b.d);
  for (std::size_t k = 0; k < 16; ++k) {
    const int low = k < 8 ? b.scales[k] & 15 : b.scales[k - 8] >> 4;
    const int high = (b.scales[8 + k % 4] >> (2 * (k / 4))) & 3;
    out.scale[k] = d * Float((low | high << 4) - 32);
  }
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, j = i % 128 / 32, l = i % 32;
    const int high = (b.hmask[l] >> (4 * n + j)) & 1;
    out.q[i] = Byte(((b.qs[32 * n + l] >> (2 * j)) & 3) | high << 2);
  }
}

// Scales and minima of Q4_K and Q5_K: eight of each, 6 bits, in twelve bytes.
void ReadGroupScales(float d, float dmin, const std::uint8_t (&s)[12], Integers& out) {
  for (std::size_t g = 0; g < 8; ++g) {
    const int scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
    const int min = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
    out.scale[g] = d * Float(scale);
    out.min[g] = -(dmin * Float(min));
  }
}
void Read(const BlockQ4K& b, Integers& out) {
  ReadGroupScales(F16ToF32(b.d), F16ToF32(b.dmin), b.scales, out);
  for (std::size_t i = 0; i < 256; ++i) {
    const int byte = b.qs[32 * (i / 64) + i % 32];
    out.q[i] = Byte(i / 32 % 2 == 0 ? byte & 15 : byte >> 4);
  }
}
void Read(const BlockQ5K& b, Integers& out) {
  ReadGroupScales(F16ToF32(b.d), F16ToF32(b.dmin), b.scales, out);
  for (std::size_t i = 0; i < 256; ++i) {
    const int byte = b.qs[32 * (i / 64) + i % 32];
    const int high = ((b.qh[i % 32] >> (i / 32)) & 1) << 4;
    out.q[i] = Byte((i / 32 % 2 == 0 ? byte & 15 : byte >> 4) | high);
  }
}
void Read(const BlockQ6K& b, Integers& out) {
  const float d = F16ToF32(b.d);
  for (std::size_t g = 0; g < 16; ++g) out.scale[g] = d * Float(b.scales[g]);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t n = i / 128, r = i % 128 / 32, l = i % 32;
    const int byte = b.ql[64 * n + 32 * (r % 2) + l];
    const int high = (b.qh[32 * n + l] >> (2 * r)) & 3;
    out.q[i] = Byte((r < 2 ? byte & 15 : byte >> 4) | high << 4);
  }
}
void Read(const BlockIq4Xs& b, Integers& out) {
  const float d = F16ToF32(b.d);
  for (std::size_t g = 0; g < 8; ++g) {
    const int low = (b.scales_l[g / 2] >> (4 * (g % 2))) & 15;
    const int high = (b.scales_h >> (2 * g)) & 3;
    out.scale[g] = d * Float((low | high << 4) - 32);
  }
  for (std::size_t i = 0; i < 256; ++i) {
    out.q[i] = Byte(kIq4Values[Nibble(b.qs + 16 * (i / 32), i % 32)] + 128);
  }
}

template <typename Block, std::size_t kGroup, bool kHasMin>
void Unpack(const std::byte* const* rows, std::size_t k, const BlockPanel& panel) {
  constexpr std::size_t kGroups = Block::kElements / kGroup;
  for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
    for (std::size_t b = 0; b < k / Block::kElements; ++b) {
      Block block;
      std::memcpy(&block, rows[r] + b * sizeof(Block), sizeof(Block));
      Integers integers;
      Read(block, integers);
      for (std::size_t g = 0; g < kGroups; ++g) {
        const std::size_t at = (b * kGroups + g) * kBlockPanelOutputs + r;
        panel.scale[at] = integers.scale[g];
        if constexpr (kHasMin) panel.min[at] = integers.min[g];
      }
      for (std::size_t i = 0; i < Block::kElements; i += 4) {
        const std::size_t at = ((b * Block::kElements + i) / 4 * kBlockPanelOutputs + r) * 4;
        std::memcpy(panel.q + at, integers.q + i, 4);
      }
    }
  }
}

}  // namespace

UnpackBlocksFn PlainUnpackBlocks(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0:
      return Unpack<BlockQ4_0, 32, false>;
    case Dtype::kQ4_1:
      return Unpack<BlockQ4_1, 32, true>;
    case Dtype::kQ5_0:
      return Unpack<BlockQ5_0, 32, false>;
    case Dtype::kQ5_1:
      return Unpack<BlockQ5_1, 32, true>;
    case Dtype::kQ8_0:
      return Unpack<BlockQ8_0, 32, false>;
    case Dtype::kQ2K:
      return Unpack<BlockQ2K, 16, true>;
    case Dtype::kQ3K:
      return Unpack<BlockQ3K, 16, false>;
    case Dtype::kQ4K:
      return Unpack<BlockQ4K, 32, true>;
    case Dtype::kQ5K:
      return Unpack<BlockQ5K, 32, true>;
    case Dtype::kQ6K:
      return Unpack<BlockQ6K, 16, false>;
    case Dtype::kIq4Nl:
      return Unpack<BlockIq4Nl, 32, false>;
    case Dtype::kIq4Xs:
      return Unpack<BlockIq4Xs, 32, false>;
    case Dtype::kMxfp4:
      return Unpack<BlockMxfp4, 32, false>;
    case Dtype::kKhq4:
      return Unpack<BlockKhq4, 32, true>;
    case Dtype::kKhq3:
      return Unpack<BlockKhq3, 32, true>;
    default:
      internal::CheckFailed("block format", __FILE__, __LINE__);
  }
}

BlockForm BlockFormOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kQ4_0:
      return {32, 8, false};
    case Dtype::kQ5_0:
      return {32, 16, false};
    case Dtype::kQ8_0:
    case Dtype::kIq4Nl:
    case Dtype::kIq4Xs:
      return {32, 128, false};
    case Dtype::kMxfp4:
      return {32, 16, false};
    case Dtype::kQ2K:
      return {16, 0, true};
    case Dtype::kQ3K:
      return {16, 4, false};
    case Dtype::kQ6K:
      return {16, 32, false};
    default:
      LATTICE_CHECK(IsBlock(dtype));
      return {32, 0, true};
  }
}

}  // namespace lattice::kernels
