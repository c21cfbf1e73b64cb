// Panels of sixteen rows for the instruction set of the including file, which comes with Reg
// (sixteen dwords: lane r is row r), Floats (sixteen f32) and what is done with them here.

#include "kernels/cpu/unpack_blocks/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kBlockBytes = 32 * kBlockPanelOutputs;  // of a panel's q

inline void PrefetchRows(Rows rows, std::size_t at) {
  for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
    __builtin_prefetch(rows[kBlockPanelOutputs + r] + at);
  }
}

inline Reg Low(Reg v) { return And(v, Splat8(15)); }
inline Reg High(Reg v) { return Low(ShiftRight(v, 4)); }
inline void Store(std::uint8_t* q, std::size_t dword, Reg v) { StoreReg(q + dword * 64, v); }
inline Floats UpperHalves(Reg v) { return LowerHalves(ShiftRight(v, 16)); }

// Scales of the block at `at`, as f16 in the second half of the memory of n blocks' scales: kept
// there until WidenScales, far from the loads that would wait for such narrow stores.
inline void KeepHalves(Rows rows, std::size_t at, float* scale, std::size_t block, std::size_t n) {
  auto* to = reinterpret_cast<std::byte*>(scale) + n * 32 + block * 32;
  for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
    __builtin_memcpy(to + 2 * r, rows[r] + at, 2);
  }
}
inline void WidenScales(float* scale, std::size_t n) {
  const auto* from = reinterpret_cast<const std::byte*>(scale) + n * 32;
  for (std::size_t b = 0; b < n; ++b) StoreFloats(scale + b * 16, LoadHalves(from + b * 32));
}

// The same for blocks that begin with a scale and a minimum.
inline void KeepPairs(Rows rows, std::size_t at, float* scale, std::size_t block) {
  auto* to = reinterpret_cast<std::byte*>(scale) + block * 64;
  for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
    __builtin_memcpy(to + 4 * r, rows[r] + at, 4);
  }
}
inline void WidenPairs(float* scale, float* min, std::size_t n) {
  for (std::size_t b = 0; b < n; ++b) {
    const Reg pairs = LoadReg(scale + b * 16);
    StoreFloats(scale + b * 16, LowerHalves(pairs));
    StoreFloats(min + b * 16, UpperHalves(pairs));
  }
}

// One f16 of each row.
inline Floats HalvesAt(Rows rows, std::size_t at) {
  alignas(32) std::byte halves[2 * kBlockPanelOutputs];
  for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
    __builtin_memcpy(halves + 2 * r, rows[r] + at, 2);
  }
  return LoadHalves(halves);
}

// Adds 16 to the bytes whose bit of `fifth` (one dword a row, bit i for element i) is set; dword d
// holds elements 4 d to 4 d + 3.
inline Reg AddFifthBits(Reg q, Reg fifth, unsigned d) {
  // Bytes of a dword get bits 4 d, 4 d + 1, ...: each of these steps moves a bit by seven places.
  const Reg four = And(ShiftRight(fifth, 4 * d), Splat32(15));
  const Reg two = Or(four, ShiftLeft(four, 14));
  const Reg spread = And(Or(two, ShiftLeft(two, 7)), Splat8(1));
  return Or(q, ShiftLeft(spread, 4));
}

// Nibbles of one block of 32, the high ones after the low ones.
inline void StoreNibbles(std::uint8_t* q, const Reg (&t)[4]) {
  for (std::size_t j = 0; j < 4; ++j) {
    Store(q, j, Low(t[j]));
    Store(q, 4 + j, High(t[j]));
  }
}
inline void StoreFiveBits(std::uint8_t* q, const Reg (&t)[4], Reg fifth) {
  for (unsigned j = 0; j < 4; ++j) {
    Store(q, j, AddFifthBits(Low(t[j]), fifth, j));
    Store(q, 4 + j, AddFifthBits(High(t[j]), fifth, 4 + j));
  }
}
// Codes of 4 bits that stand for the bytes of a table.
inline void StoreLookedUp(std::uint8_t* q, const Reg (&t)[4], Reg table) {
  for (std::size_t j = 0; j < 4; ++j) {
    Store(q, j, LookUp(table, Low(t[j])));
    Store(q, 4 + j, LookUp(table, High(t[j])));
  }
}
// The values of IQ4_NL and IQ4_XS, plus 128.
constexpr std::uint8_t kIq4Table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                        129, 141, 153, 166, 181, 197, 217, 241};
// Those of MXFP4, doubled, plus 16.
constexpr std::uint8_t kMxfp4Table[16] = {16, 17, 18, 19, 20, 22, 24, 28,
                                          16, 15, 14, 13, 12, 10, 8,  4};

void Q4_0(Rows rows, std::size_t k, const BlockPanel& panel) {
  const std::size_t n = k / 32;
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t at = b * 18;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg t[4];
    Load(rows, at + 2, t);
    KeepHalves(rows, at, panel.scale, b, n);
    StoreNibbles(panel.q + b * kBlockBytes, t);
  }
  WidenScales(panel.scale, n);
}

void Iq4Nl(Rows rows, std::size_t k, const BlockPanel& panel) {
  const Reg table = LoadTable(kIq4Table);
  const std::size_t n = k / 32;
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t at = b * 18;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg t[4];
    Load(rows, at + 2, t);
    KeepHalves(rows, at, panel.scale, b, n);
    StoreLookedUp(panel.q + b * kBlockBytes, t, table);
  }
  WidenScales(panel.scale, n);
}

void Mxfp4(Rows rows, std::size_t k, const BlockPanel& panel) {
  const Reg table = LoadTable(kMxfp4Table);
  for (std::size_t b = 0; b < k / 32; ++b) {
    const std::size_t at = b * 17;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg t[4];
    Load(rows, at + 1, t);
    StoreLookedUp(panel.q + b * kBlockBytes, t, table);
    // 2^(e - 128): subnormal for the two smallest exponents.
    for (std::size_t r = 0; r < kBlockPanelOutputs; ++r) {
      const auto e = static_cast<std::uint32_t>(rows[r][at]);
      const std::uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
      __builtin_memcpy(panel.scale + b * 16 + r, &bits, sizeof(bits));
    }
  }
}

void Q4_1(Rows rows, std::size_t k, const BlockPanel& panel) {
  const std::size_t n = k / 32;
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t at = b * 20;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg t[4];
    Load(rows, at + 4, t);
    KeepPairs(rows, at, panel.scale, b);
    StoreNibbles(panel.q + b * kBlockBytes, t);
  }
  WidenPairs(panel.scale, panel.min, n);
}

// Bytes hold neighbours: element 2 b in the low nibble, 2 b + 1 in the high one.
void Khq4(Rows rows, std::size_t k, const BlockPanel& panel) {
  constexpr std::uint8_t kFirst[16] = {0, 0, 1, 1, 4, 4, 5, 5, 8, 8, 9, 9, 12, 12, 13, 13};
  constexpr std::uint8_t kSecond[16] = {2, 2, 3, 3, 6, 6, 7, 7, 10, 10, 11, 11, 14, 14, 15, 15};
  const Reg first = LoadTable(kFirst), second = LoadTable(kSecond);
  const Reg even = Splat32(0x000F000F), odd = Splat32(0x0F000F00);
  const std::size_t n = k / 32;
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t at = b * 20;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg t[4];
    Load(rows, at + 4, t);
    KeepPairs(rows, at, panel.scale, b);
    std::uint8_t* q = panel.q + b * kBlockBytes;
    for (std::size_t j = 0; j < 4; ++j) {
      const Reg low = LookUp(t[j], first), high = LookUp(t[j], second);
      Store(q, 2 * j, Or(And(low, even), And(ShiftRight(low, 4), odd)));
      Store(q, 2 * j + 1, Or(And(high, even), And(ShiftRight(high, 4), odd)));
    }
  }
  WidenPairs(panel.scale, panel.min, n);
}

void Q5_0(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 32; ++b) {
    const std::size_t at = b * 22;
    if (b % 3 == 0) PrefetchRows(rows, at);
    Reg head[4], t[4];
    Load(rows, at, head);
    Load(rows, at + 6, t);
    StoreFloats(panel.scale + b * 16, LowerHalves(head[0]));
    StoreFiveBits(panel.q + b * kBlockBytes, t,
                  Or(ShiftRight(head[0], 16), ShiftLeft(head[1], 16)));
  }
}

void Q5_1(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 32; ++b) {
    const std::size_t at = b * 24;
    if (b % 2 == 0) PrefetchRows(rows, at);
    Reg head[4], t[4];
    Load(rows, at, head);
    Load(rows, at + 8, t);
    StoreFloats(panel.scale + b * 16, LowerHalves(head[0]));
    StoreFloats(panel.min + b * 16, UpperHalves(head[0]));
    StoreFiveBits(panel.q + b * kBlockBytes, t, head[1]);
  }
}

void Q8_0(Rows rows, std::size_t k, const BlockPanel& panel) {
  const std::size_t n = k / 32;
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t at = b * 34;
    if (b % 2 == 0) PrefetchRows(rows, at);
    for (std::size_t half = 0; half < 2; ++half) {
      Reg t[4];
      Load(rows, at + 2 + 16 * half, t);
      for (std::size_t j = 0; j < 4; ++j) {
        Store(panel.q + b * kBlockBytes, 4 * half + j, Xor(t[j], Splat8(128)));
      }
    }
    KeepHalves(rows, at, panel.scale, b, n);
  }
  WidenScales(panel.scale, n);
}

// d * byte g of v, as a number below 256.
inline Floats ScaledByte(Floats d, Reg v, unsigned g) {
  return Mul(d, ToFloats(And(ShiftRight(v, 8 * g), Splat32(255))));
}
// d * byte g of v, as a number in -128..127.
inline Floats ScaledSignedByte(Floats d, Reg v, unsigned g) {
  return Mul(d, ToFloats(ShiftRightSigned(ShiftLeft(v, 24 - 8 * g), 24)));
}

// The head of Q4_K and Q5_K: two f16, then 8 scales and 8 minima of 6 bits.
inline void StoreGroupScales(Rows rows, std::size_t at, float* scale, float* min) {
  Reg t[4];
  Load(rows, at, t);
  const Floats d = LowerHalves(t[0]), dmin = UpperHalves(t[0]);
  const Reg six = Splat8(0x3F), upper = Splat8(0x30);
  const Reg scales[2] = {And(t[1], six), Or(Low(t[3]), And(ShiftRight(t[1], 2), upper))};
  const Reg minima[2] = {And(t[2], six), Or(High(t[3]), And(ShiftRight(t[2], 2), upper))};
  for (unsigned g = 0; g < 8; ++g) {
    StoreFloats(scale + g * 16, ScaledByte(d, scales[g / 4], g % 4));
    StoreFloats(min + g * 16, Negate(ScaledByte(dmin, minima[g / 4], g % 4)));
  }
}

void Q4K(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 144;
    StoreGroupScales(rows, at, panel.scale + b * 128, panel.min + b * 128);
    std::uint8_t* q = panel.q + b * 8 * kBlockBytes;
    for (std::size_t pair = 0; pair < 4; ++pair) {
      if (pair % 2 == 0) PrefetchRows(rows, at + 32 * pair);
      for (std::size_t half = 0; half < 2; ++half) {
        Reg t[4];
        Load(rows, at + 16 + 32 * pair + 16 * half, t);
        for (std::size_t j = 0; j < 4; ++j) {
          Store(q, 16 * pair + 4 * half + j, Low(t[j]));
          Store(q, 16 * pair + 8 + 4 * half + j, High(t[j]));
        }
      }
    }
  }
}

void Q5K(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 176;
    StoreGroupScales(rows, at, panel.scale + b * 128, panel.min + b * 128);
    std::uint8_t* q = panel.q + b * 8 * kBlockBytes;
    for (std::size_t half = 0; half < 2; ++half) {
      Reg fifth[4];  // bit g of a byte belongs to group g
      Load(rows, at + 16 + 16 * half, fifth);
      PrefetchRows(rows, at + 64 * half);
      for (std::size_t pair = 0; pair < 4; ++pair) {
        Reg t[4];
        Load(rows, at + 48 + 32 * pair + 16 * half, t);
        for (std::size_t j = 0; j < 4; ++j) {
          const Reg bits = ShiftRight(fifth[j], static_cast<unsigned>(2 * pair));
          const Reg even = ShiftLeft(And(bits, Splat8(1)), 4);
          const Reg odd = ShiftLeft(And(bits, Splat8(2)), 3);
          Store(q, 16 * pair + 4 * half + j, Or(Low(t[j]), even));
          Store(q, 16 * pair + 8 + 4 * half + j, Or(High(t[j]), odd));
        }
      }
    }
  }
}

void Q6K(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 210;
    const Floats d = HalvesAt(rows, at + 208);
    Reg scales[4];
    Load(rows, at + 192, scales);
    for (unsigned g = 0; g < 16; ++g) {
      StoreFloats(panel.scale + b * 256 + g * 16, ScaledSignedByte(d, scales[g / 4], g % 4));
    }
    for (std::size_t part = 0; part < 4; ++part) {
      const std::size_t n = part / 2, half = part % 2;
      PrefetchRows(rows, at + 52 * part);
      Reg first[4], second[4], high[4];
      Load(rows, at + 64 * n + 16 * half, first);
      Load(rows, at + 64 * n + 32 + 16 * half, second);
      Load(rows, at + 128 + 32 * n + 16 * half, high);
      std::uint8_t* q = panel.q + (b * 8 + 4 * n) * kBlockBytes;
      for (std::size_t j = 0; j < 4; ++j) {
        const auto join = [](Reg low, Reg bits) { return Or(low, And(bits, Splat8(0x30))); };
        const std::size_t at_j = 4 * half + j;
        Store(q, at_j, join(Low(first[j]), ShiftLeft(high[j], 4)));
        Store(q, 8 + at_j, join(Low(second[j]), ShiftLeft(high[j], 2)));
        Store(q, 16 + at_j, join(High(first[j]), high[j]));
        Store(q, 24 + at_j, join(High(second[j]), ShiftRight(high[j], 2)));
      }
    }
  }
}

void Q2K(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 84;
    const Floats d = HalvesAt(rows, at + 80), dmin = HalvesAt(rows, at + 82);
    Reg scales[4];
    Load(rows, at, scales);
    for (unsigned g = 0; g < 16; ++g) {
      const std::size_t to = b * 256 + g * 16;
      StoreFloats(panel.scale + to, ScaledByte(d, Low(scales[g / 4]), g % 4));
      StoreFloats(panel.min + to, Negate(ScaledByte(dmin, High(scales[g / 4]), g % 4)));
    }
    PrefetchRows(rows, at);
    for (std::size_t part = 0; part < 4; ++part) {
      const std::size_t n = part / 2, half = part % 2;
      Reg t[4];
      Load(rows, at + 16 + 32 * n + 16 * half, t);
      std::uint8_t* q = panel.q + (b * 8 + 4 * n) * kBlockBytes;
      for (std::size_t i = 0; i < 16; ++i) {
        const Reg bits = ShiftRight(t[i % 4], static_cast<unsigned>(2 * (i / 4)));
        Store(q, i / 4 * 8 + 4 * half + i % 4, And(bits, Splat8(3)));
      }
    }
  }
}

// Sixteen scales of 6 bits, less 32: the lower four bits in eight bytes, the others in four.
inline void StoreQ3Scales(Rows rows, std::size_t at, float* scale) {
  const Floats d = HalvesAt(rows, at + 108);
  Reg t[4];
  Load(rows, at + 94, t);  // The twelve bytes from 96 on, after two others.
  const auto dword = [&](std::size_t i) {
    return Or(ShiftRight(t[i], 16), ShiftLeft(t[i + 1], 16));
  };
  const Reg low[2] = {dword(0), dword(1)}, high = dword(2);
  for (unsigned part = 0; part < 4; ++part) {
    const Reg four = part < 2 ? Low(low[part]) : High(low[part - 2]);
    const Reg two = And(ShiftLeft(ShiftRight(high, 2 * part), 4), Splat8(0x30));
    // The numbers less 32 as signed bytes: 32 is added and 64 taken, bit by bit.
    const Reg six = Or(four, two);
    const Reg flipped = Xor(six, Splat8(0x20));
    const Reg sign = And(flipped, Splat8(0x20));
    const Reg bytes = Or(flipped, Or(ShiftLeft(sign, 1), ShiftLeft(sign, 2)));
    for (unsigned g = 0; g < 4; ++g) {
      StoreFloats(scale + (4 * part + g) * 16, ScaledSignedByte(d, bytes, g));
    }
  }
}

void Q3K(Rows rows, std::size_t k, const BlockPanel& panel) {
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 110;
    StoreQ3Scales(rows, at, panel.scale + b * 256);
    for (std::size_t half = 0; half < 2; ++half) {
      Reg mask[4];  // bit 4 n + j of byte l: the third bit of element 128 n + 32 j + l
      Load(rows, at + 16 * half, mask);
      PrefetchRows(rows, at + 56 * half);
      for (std::size_t n = 0; n < 2; ++n) {
        Reg t[4];
        Load(rows, at + 32 + 32 * n + 16 * half, t);
        std::uint8_t* q = panel.q + (b * 8 + 4 * n) * kBlockBytes;
        for (std::size_t i = 0; i < 16; ++i) {
          const auto j = static_cast<unsigned>(i / 4), bit = static_cast<unsigned>(4 * n) + j;
          const Reg two = And(ShiftRight(t[i % 4], 2 * j), Splat8(3));
          const Reg third = ShiftLeft(And(ShiftRight(mask[i % 4], bit), Splat8(1)), 2);
          Store(q, j * 8 + 4 * half + i % 4, Or(two, third));
        }
      }
    }
  }
}

void Iq4Xs(Rows rows, std::size_t k, const BlockPanel& panel) {
  const Reg table = LoadTable(kIq4Table);
  for (std::size_t b = 0; b < k / 256; ++b) {
    const std::size_t at = b * 136;
    Reg head[4];  // f16, then eight times two bits, then eight nibbles
    Load(rows, at, head);
    const Floats d = LowerHalves(head[0]);
    PrefetchRows(rows, at);
    PrefetchRows(rows, at + 64);
    for (unsigned g = 0; g < 8; ++g) {
      const Reg low = And(ShiftRight(head[1], 4 * g), Splat32(15));
      const Reg high = And(ShiftRight(head[0], 16 + 2 * g), Splat32(3));
      const Floats six = ToFloats(Or(low, ShiftLeft(high, 4)));
      StoreFloats(panel.scale + (b * 8 + g) * 16, Mul(d, Less(six, 32.0f)));
      Reg t[4];
      Load(rows, at + 8 + 16 * g, t);
      StoreLookedUp(panel.q + (b * 8 + g) * kBlockBytes, t, table);
    }
  }
}

constexpr UnpackBlocksFns kFunctions = {.q4_0 = Q4_0,
                                        .q4_1 = Q4_1,
                                        .q5_0 = Q5_0,
                                        .q5_1 = Q5_1,
                                        .q8_0 = Q8_0,
                                        .q2_k = Q2K,
                                        .q3_k = Q3K,
                                        .q4_k = Q4K,
                                        .q5_k = Q5K,
                                        .q6_k = Q6K,
                                        .iq4_nl = Iq4Nl,
                                        .iq4_xs = Iq4Xs,
                                        .mxfp4 = Mxfp4,
                                        .khq4 = Khq4};

}  // namespace
}  // namespace lattice::kernels
