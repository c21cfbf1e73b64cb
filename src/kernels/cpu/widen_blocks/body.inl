// WidenBlocks for the instruction set of the including file, which comes with its Vec, LoadI8 and
// Half(bits). A block's codes become bytes first, then values group by group.

#include <cstddef>

#include "kernels/cpu/widen_blocks/variants.h"
#include "numeric/blocks.h"
#include "numeric/decode_blocks.h"

namespace lattice::kernels {
namespace {

// Compilers' own vectors: loops over bytes become long chains of insertions.
using Bytes = std::uint8_t __attribute__((vector_size(16)));

inline Bytes LoadBytes(const void* from) {
  Bytes v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
inline void StoreBytes(void* to, Bytes v) { __builtin_memcpy(to, &v, sizeof(v)); }

template <std::size_t kN>
[[gnu::always_inline]] inline void Scale(const std::int8_t* codes, float scale, float* out) {
  const Vec by = Set1(scale);
  for (std::size_t i = 0; i < kN; i += 16) Store(out + i, Mul(by, LoadI8(codes + i)));
}
template <std::size_t kN>
[[gnu::always_inline]] inline void ScaleAndAdd(const std::int8_t* codes, float scale, float add,
                                               float* out) {
  const Vec by = Set1(scale), plus = Set1(add);
  for (std::size_t i = 0; i < kN; i += 16) {
    Store(out + i, Add(Mul(by, LoadI8(codes + i)), plus));
  }
}

// Low nibbles, then high ones, less zero.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void Nibbles(const std::uint8_t* from, std::uint8_t zero,
                                           std::int8_t* codes) {
  for (std::size_t i = 0; i < kBytes; i += 16) {
    const Bytes both = LoadBytes(from + i);
    StoreBytes(codes + i, (both & 15) - zero);
    StoreBytes(codes + kBytes + i, (both >> 4) - zero);
  }
}

// Adds 16 where bit i of 32 is set.
inline void AddFifthBits(const std::uint8_t (&bits)[4], std::int8_t* codes) {
  constexpr Bytes kBits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  for (std::size_t i = 0; i < 2; ++i) {
    constexpr std::uint64_t kEach = 0x0101010101010101u;
    const std::uint64_t spread[2] = {bits[2 * i] * kEach, bits[2 * i + 1] * kEach};
    const Bytes set = (Bytes)((LoadBytes(spread) & kBits) == kBits);
    StoreBytes(codes + 16 * i, LoadBytes(codes + 16 * i) + (set & 16));
  }
}

inline void LookUp(const std::int8_t (&values)[16], std::size_t n, std::int8_t* codes) {
  for (std::size_t i = 0; i < n; ++i) codes[i] = values[codes[i]];
}

// Blocks have no alignment: fields come from a copy, and runs of bytes from where they lie, which
// spares a wait for the copy.
inline void Decode(const BlockQ4_0& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockQ4_0, qs), 8, codes);
  Scale<32>(codes, Half(block.d), out);
}

inline void Decode(const BlockQ4_1& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockQ4_1, qs), 0, codes);
  ScaleAndAdd<32>(codes, Half(block.d), Half(block.m), out);
}

inline void Decode(const BlockQ5_0& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockQ5_0, qs), 16, codes);
  AddFifthBits(block.qh, codes);
  Scale<32>(codes, Half(block.d), out);
}

inline void Decode(const BlockQ5_1& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockQ5_1, qs), 0, codes);
  AddFifthBits(block.qh, codes);
  ScaleAndAdd<32>(codes, Half(block.d), Half(block.m), out);
}

inline void Decode(const BlockQ8_0& block, const std::uint8_t* at, float* out) {
  Scale<32>(reinterpret_cast<const std::int8_t*>(at + offsetof(BlockQ8_0, qs)), Half(block.d), out);
}

inline void Decode(const BlockIq4Nl& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockIq4Nl, qs), 0, codes);
  LookUp(kIq4Values, 32, codes);
  Scale<32>(codes, Half(block.d), out);
}

inline void Decode(const BlockMxfp4& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[32];
  Nibbles<16>(at + offsetof(BlockMxfp4, qs), 0, codes);
  LookUp(kMxfp4Values, 32, codes);
  Scale<32>(codes, Mxfp4Scale(block.e), out);
}

inline void Decode(const BlockKhq4& block, const std::uint8_t* /*at*/, float* out) {
  std::int8_t codes[32];
  for (std::size_t i = 0; i < 16; ++i) {
    codes[2 * i] = static_cast<std::int8_t>(block.qs[i] & 15);
    codes[2 * i + 1] = static_cast<std::int8_t>(block.qs[i] >> 4);
  }
  ScaleAndAdd<32>(codes, Half(block.scale), Half(block.bias), out);
}

inline void Decode(const BlockKhq3& block, const std::uint8_t* /*at*/, float* out) {
  std::int8_t codes[32];
  for (std::size_t i = 0; i < 32; ++i) {
    const int low = (block.low[i / 4] >> (2 * (i % 4))) & 3;
    const int high = (block.high[i / 8] >> (i % 8)) & 1;
    codes[i] = static_cast<std::int8_t>(low | high << 2);
  }
  ScaleAndAdd<32>(codes, Half(block.scale), Half(block.bias), out);
}

// Two bits of 64 bytes: 128 n + 32 j + l is in byte 32 n + l, j pairs of bits up.
inline void Pairs(const std::uint8_t* from, std::int8_t (&codes)[256]) {
  for (std::size_t n = 0; n < 2; ++n) {
    for (int j = 0; j < 4; ++j) {
      for (std::size_t l = 0; l < 32; l += 16) {
        StoreBytes(codes + 128 * n + 32 * static_cast<std::size_t>(j) + l,
                   (LoadBytes(from + 32 * n + l) >> (2 * j)) & 3);
      }
    }
  }
}

inline void Decode(const BlockQ2K& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  Pairs(at + offsetof(BlockQ2K, qs), codes);
  const float d = Half(block.d), dmin = Half(block.dmin);
  for (std::size_t g = 0; g < 16; ++g) {
    const int s = block.scales[g];
    ScaleAndAdd<16>(codes + 16 * g, d * static_cast<float>(s & 15),
                    -(dmin * static_cast<float>(s >> 4)), out + 16 * g);
  }
}

inline void Decode(const BlockQ3K& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  Pairs(at + offsetof(BlockQ3K, qs), codes);
  for (int g = 0; g < 8; ++g) {
    for (std::size_t l = 0; l < 32; l += 16) {
      std::int8_t* const to = codes + 32 * static_cast<std::size_t>(g) + l;
      const Bytes high_bit = (LoadBytes(at + offsetof(BlockQ3K, hmask) + l) >> g) & 1;
      StoreBytes(to, LoadBytes(to) + (high_bit << 2) - 4);
    }
  }
  const float d = Half(block.d);
  for (std::size_t g = 0; g < 16; ++g) {
    const int low = g < 8 ? block.scales[g] & 15 : block.scales[g - 8] >> 4;
    const int high = (block.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
    Scale<16>(codes + 16 * g, d * static_cast<float>((low | high << 4) - 32), out + 16 * g);
  }
}

// Groups of 32 whose scales and minima of 6 bits lie in twelve bytes, see numeric.
inline void ScaleGroups(const std::int8_t (&codes)[256], const std::uint8_t (&s)[12], float d,
                        float dmin, float* out) {
  for (std::size_t g = 0; g < 8; ++g) {
    const int scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
    const int min = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
    ScaleAndAdd<32>(codes + 32 * g, d * static_cast<float>(scale),
                    -(dmin * static_cast<float>(min)), out + 32 * g);
  }
}

inline void Decode(const BlockQ4K& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  for (std::size_t n = 0; n < 4; ++n)
    Nibbles<32>(at + offsetof(BlockQ4K, qs) + 32 * n, 0, codes + 64 * n);
  ScaleGroups(codes, block.scales, Half(block.d), Half(block.dmin), out);
}

inline void Decode(const BlockQ5K& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  for (std::size_t n = 0; n < 4; ++n)
    Nibbles<32>(at + offsetof(BlockQ5K, qs) + 32 * n, 0, codes + 64 * n);
  for (int g = 0; g < 8; ++g) {
    for (std::size_t l = 0; l < 32; l += 16) {
      std::int8_t* const to = codes + 32 * static_cast<std::size_t>(g) + l;
      StoreBytes(to,
                 LoadBytes(to) | (((LoadBytes(at + offsetof(BlockQ5K, qh) + l) >> g) & 1) << 4));
    }
  }
  ScaleGroups(codes, block.scales, Half(block.d), Half(block.dmin), out);
}

inline void Decode(const BlockQ6K& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  for (std::size_t n = 0; n < 2; ++n) {
    Nibbles<64>(at + offsetof(BlockQ6K, ql) + 64 * n, 0, codes + 128 * n);
    for (int r = 0; r < 4; ++r) {
      for (std::size_t l = 0; l < 32; l += 16) {
        std::int8_t* const to = codes + 128 * n + 32 * static_cast<std::size_t>(r) + l;
        const Bytes high = (LoadBytes(at + offsetof(BlockQ6K, qh) + 32 * n + l) >> (2 * r)) & 3;
        StoreBytes(to, (LoadBytes(to) | (high << 4)) - 32);
      }
    }
  }
  const float d = Half(block.d);
  for (std::size_t g = 0; g < 16; ++g) {
    Scale<16>(codes + 16 * g, d * static_cast<float>(block.scales[g]), out + 16 * g);
  }
}

inline void Decode(const BlockIq4Xs& block, const std::uint8_t* at, float* out) {
  std::int8_t codes[256];
  for (std::size_t g = 0; g < 8; ++g)
    Nibbles<16>(at + offsetof(BlockIq4Xs, qs) + 16 * g, 0, codes + 32 * g);
  LookUp(kIq4Values, 256, codes);
  const float d = Half(block.d);
  for (std::size_t g = 0; g < 8; ++g) {
    const int low = (block.scales_l[g / 2] >> (4 * (g % 2))) & 15;
    const int high = (block.scales_h >> (2 * g)) & 3;
    Scale<32>(codes + 32 * g, d * static_cast<float>((low | high << 4) - 32), out + 32 * g);
  }
}

template <typename Block>
void DecodeAll(const std::byte* blocks, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n / Block::kElements; ++i) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(blocks + i * sizeof(Block));
    Block block;
    __builtin_memcpy(&block, at, sizeof(Block));
    Decode(block, at, out + i * Block::kElements);
  }
}

void WidenBlocks(Dtype dtype, const std::byte* blocks, std::size_t n, float* out) {
  switch (dtype) {
    case Dtype::kQ4_0:
      return DecodeAll<BlockQ4_0>(blocks, n, out);
    case Dtype::kQ4_1:
      return DecodeAll<BlockQ4_1>(blocks, n, out);
    case Dtype::kQ5_0:
      return DecodeAll<BlockQ5_0>(blocks, n, out);
    case Dtype::kQ5_1:
      return DecodeAll<BlockQ5_1>(blocks, n, out);
    case Dtype::kQ8_0:
      return DecodeAll<BlockQ8_0>(blocks, n, out);
    case Dtype::kQ2K:
      return DecodeAll<BlockQ2K>(blocks, n, out);
    case Dtype::kQ3K:
      return DecodeAll<BlockQ3K>(blocks, n, out);
    case Dtype::kQ4K:
      return DecodeAll<BlockQ4K>(blocks, n, out);
    case Dtype::kQ5K:
      return DecodeAll<BlockQ5K>(blocks, n, out);
    case Dtype::kQ6K:
      return DecodeAll<BlockQ6K>(blocks, n, out);
    case Dtype::kIq4Nl:
      return DecodeAll<BlockIq4Nl>(blocks, n, out);
    case Dtype::kIq4Xs:
      return DecodeAll<BlockIq4Xs>(blocks, n, out);
    case Dtype::kMxfp4:
      return DecodeAll<BlockMxfp4>(blocks, n, out);
    case Dtype::kKhq4:
      return DecodeAll<BlockKhq4>(blocks, n, out);
    case Dtype::kKhq3:
      return DecodeAll<BlockKhq3>(blocks, n, out);
    default:
      __builtin_unreachable();  // The caller asks for block formats only.
  }
}

}  // namespace
}  // namespace lattice::kernels
