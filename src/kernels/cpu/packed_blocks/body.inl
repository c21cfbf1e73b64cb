// Packed panels in the registers of the including file, which comes with Reg (64 bytes, or sixteen
// dwords: lane o is output o), Floats (sixteen f32) and what is done with them here.

#include "kernels/cpu/packed_blocks/packed_layout.inl"

namespace lattice::kernels {
namespace {

// Bytes between what is multiplied and what is fetched: on x86 into the second cache, since the
// first one's few outstanding lines would set the speed. Zen 4, two threads, Qwen3.5-0.8B one by
// one, medians of 7 turns: Q4_0 40.6 -> 50.0 tokens/s, Q6_K 32.9 -> 40.6. Fetched half as far
// ahead: 43.4 and 32.8.
constexpr std::size_t kAheadBytes = 4096;

template <PackedCodes kCodes>
inline Reg Table() {
  if constexpr (kCodes == PackedCodes::kMxfp4) return LoadTable(kMxfp4Table);
  return LoadTable(kIq4Table);
}

// The bits of `mask` (in a byte, from bit `to` on) that v has from bit `from` on.
inline Reg Field(Reg v, unsigned from, unsigned to, int mask) {
  if (from > to) return And(ShiftRight(v, from - to), Splat8(mask));
  if (from < to) return And(ShiftLeft(v, to - from), Splat8(mask));
  return And(v, Splat8(mask));
}

// The integers of steps 2 l and 2 l + 1 of a cell.
template <PackedFormat kFormat>
inline void Decode(const std::byte* cell, unsigned l, Reg& even, Reg& odd) {
  constexpr PackedLayout kLayout = LayoutOf(kFormat);
  constexpr unsigned kBits = kLayout.bits;
  if constexpr (kBits == 8) {
    even = LoadReg(cell + 2 * l * kLineBytes);
    odd = LoadReg(cell + (2 * l + 1) * kLineBytes);
    return;
  }
  if constexpr (HasNibbles(kBits)) {
    const Reg line = LoadReg(cell + l * kLineBytes);
    even = Field(line, 0, 0, 0x0F);
    odd = Field(line, 4, 0, 0x0F);
  }
  if constexpr (HasPairs(kBits)) {
    constexpr unsigned kTo = HasNibbles(kBits) ? 4 : 0;
    const Reg line = LoadReg(cell + PairsAt(kBits) + l / 2 * kLineBytes);
    const Reg first = Field(line, 4 * (l % 2), kTo, 3 << kTo);
    const Reg second = Field(line, 4 * (l % 2) + 2, kTo, 3 << kTo);
    even = HasNibbles(kBits) ? Or(even, first) : first;
    odd = HasNibbles(kBits) ? Or(odd, second) : second;
  }
  if constexpr (HasSingles(kBits)) {
    const Reg line = LoadReg(cell + SinglesAt(kBits));
    even = Or(even, Field(line, 2 * l, kBits - 1, 1 << (kBits - 1)));
    odd = Or(odd, Field(line, 2 * l + 1, kBits - 1, 1 << (kBits - 1)));
  }
  if constexpr (kLayout.codes != PackedCodes::kPlain) {
    even = LookUp(Table<kLayout.codes>(), even);
    odd = LookUp(Table<kLayout.codes>(), odd);
  }
}

// 2^(e - 128) as a product of two, of which none is subnormal.
inline Floats Powers(Reg e) {
  const Reg half = ShiftRight(e, 1), other = Sub32(e, half);
  const auto power = [](Reg v) { return AsFloats(ShiftLeft(Add32(v, Splat32(63)), 23)); };
  return Mul(power(half), power(other));
}

// What the scales of a unit have in common.
struct UnitScales {
  Floats d, less_dmin;
};
template <PackedScales kScales>
inline UnitScales LoadUnitScales(const std::byte* header) {
  constexpr bool kHasD = kScales != PackedScales::kHalves && kScales != PackedScales::kHalfPairs &&
                         kScales != PackedScales::kExponents;
  UnitScales unit = {ZeroFloats(), ZeroFloats()};
  if constexpr (kHasD) unit.d = LoadHalves(header);
  if constexpr (kHasD && HasMin(kScales))
    unit.less_dmin = Negate(LoadHalves(header + kHalvesBytes));
  return unit;
}

// Scale and minimum of group g of a unit.
struct Scales {
  Floats scale, min;
};
template <PackedScales kScales>
inline Scales LoadScales(const std::byte* header, const UnitScales& unit, std::size_t g) {
  const std::size_t at = g * kBlockPanelOutputs;
  if constexpr (kScales == PackedScales::kHalves) {
    return {LoadHalves(header + 2 * at), ZeroFloats()};
  } else if constexpr (kScales == PackedScales::kHalfPairs) {
    return {LoadHalves(header + 4 * at), LoadHalves(header + 4 * at + kHalvesBytes)};
  } else if constexpr (kScales == PackedScales::kExponents) {
    return {Powers(LoadBytes(header + at)), ZeroFloats()};
  } else if constexpr (kScales == PackedScales::kBytePairs) {
    const std::byte* bytes = header + 2 * kHalvesBytes + at;
    const Reg min = LoadBytes(bytes + 8 * kBlockPanelOutputs);
    return {Mul(unit.d, ToFloats(LoadBytes(bytes))), Mul(unit.less_dmin, ToFloats(min))};
  } else if constexpr (kScales == PackedScales::kNibbles16) {
    const Reg both = LoadBytes(header + 2 * kHalvesBytes + at);
    return {Mul(unit.d, ToFloats(And(both, Splat32(15)))),
            Mul(unit.less_dmin, ToFloats(ShiftRight(both, 4)))};
  } else {
    return {Mul(unit.d, ToFloats(LoadSignedBytes(header + kHalvesBytes + at))), ZeroFloats()};
  }
}

constexpr unsigned Log2(unsigned v) { return v <= 1 ? 0 : 1 + Log2(v / 2); }

// What products of x with integers start from: less zero times the sum of x.
template <unsigned kZero>
inline Reg Start(std::int32_t sum_of_x) {
  if constexpr (kZero == 0 || (kZero == 128 && kWideIsSigned)) return Splat32(0);
  return Sub32(Splat32(0), ShiftLeft(Splat32(sum_of_x), Log2(kZero)));
}

// Four inputs as they lie. Each four are read by themselves: from memory, an instruction spreads
// them over a register on its way, and from a general register they take two more.
inline std::int32_t FourInputs(const std::int8_t* q) {
  std::int32_t four;
  __builtin_memcpy(&four, q, sizeof(four));
  return four;
}

// Adds the products of a cell with the rows of x to `y`. x: of input 0; block: the cell's place in
// a row.
template <PackedFormat kFormat, std::size_t kRows>
inline void MultiplyCell(const QuantisedRows& x, std::size_t block, const std::byte* cell,
                         const Scales (&scales)[CellGroups(LayoutOf(kFormat).scales)],
                         Floats (&y)[kRows]) {
  constexpr PackedLayout kLayout = LayoutOf(kFormat);
  constexpr std::size_t kGroups = CellGroups(kLayout.scales);
  constexpr bool kWide = kLayout.zero == 128;
  const std::int32_t* const sums = kGroups == 2 ? x.half_sums : x.sums;
  Reg sum[kGroups][kRows];
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (std::size_t r = 0; r < kRows; ++r) {
      sum[g][r] = Start<kLayout.zero>(sums[(r * x.n_blocks + block) * kGroups + g]);
    }
  }
  const std::int8_t* const q = x.q + block * kCellInputs;
#pragma GCC unroll 4
  for (unsigned l = 0; l < 4; ++l) {
    Reg even, odd;
    Decode<kFormat>(cell, l, even, odd);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::int8_t* const inputs = q + r * x.q_stride + 8 * l;
      Reg& to = sum[l * kGroups / 4][r];
      to = AddProducts<kWide>(to, even, FourInputs(inputs));
      to = AddProducts<kWide>(to, odd, FourInputs(inputs + 4));
    }
  }
#pragma GCC unroll 2
  for (std::size_t g = 0; g < kGroups; ++g) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t at = r * x.n_blocks + block;
      const Floats scale = Mul(scales[g].scale, SplatFloats(x.scale[at]));
      y[r] = MulAdd(ToFloats(sum[g][r]), scale, y[r]);
      if constexpr (HasMin(kLayout.scales)) {
        const float offset =
            kGroups == 1 ? x.offset[at] : x.scale[at] * static_cast<float>(sums[2 * at + g]);
        y[r] = MulAdd(scales[g].min, SplatFloats(offset), y[r]);
      }
    }
  }
}

// A panel's products with kRows rows of x, the first n outputs of which are stored.
template <PackedFormat kFormat, std::size_t kRows>
inline void MultiplyPanel(const PackedProductArgs& a, const std::byte* unit, float* y,
                          std::size_t n) {
  constexpr PackedLayout kLayout = LayoutOf(kFormat);
  constexpr std::size_t kGroups = CellGroups(kLayout.scales);
  Floats sum[kRows];
  for (Floats& s : sum) s = ZeroFloats();
  const std::size_t n_blocks = a.k / kCellInputs;
  for (std::size_t block = 0; block < n_blocks; block += kUnitCells) {
    const std::size_t n_cells = n_blocks - block < kUnitCells ? n_blocks - block : kUnitCells;
    const std::byte* cell = unit + HeaderBytes(kLayout.scales, n_cells);
    const UnitScales unit_scales = LoadUnitScales<kLayout.scales>(unit);
    for (std::size_t at = 0; at < HeaderBytes(kLayout.scales, kUnitCells); at += kLineBytes) {
      Prefetch(unit + kAheadBytes + at);
    }
    for (std::size_t c = 0; c < n_cells; ++c) {
      Scales scales[kGroups];
      for (std::size_t g = 0; g < kGroups; ++g) {
        scales[g] = LoadScales<kLayout.scales>(unit, unit_scales, c * kGroups + g);
      }
      for (std::size_t at = 0; at < CellBytes(kLayout.bits); at += kLineBytes) {
        Prefetch(cell + kAheadBytes + at);
      }
      MultiplyCell<kFormat, kRows>(a.x, block + c, cell, scales, sum);
      cell += CellBytes(kLayout.bits);
    }
    unit = cell;
  }
  for (std::size_t r = 0; r < kRows; ++r) StoreFirst(y + r * a.y_stride, n, sum[r]);
}

template <PackedFormat kFormat, std::size_t kRows>
void MultiplyRows(const PackedProductArgs& a) {
  const std::size_t panel_bytes = PanelBytes(LayoutOf(kFormat), a.k);
  for (std::size_t j = 0; j < a.n; j += kBlockPanelOutputs) {
    const std::size_t n = a.n - j < kBlockPanelOutputs ? a.n - j : kBlockPanelOutputs;
    MultiplyPanel<kFormat, kRows>(a, a.panels + j / kBlockPanelOutputs * panel_bytes, a.y + j, n);
  }
}

template <PackedFormat kFormat>
void Multiply(const PackedProductArgs& a) {
  static_assert(kPackedProductRows == 4);
  switch (a.m) {
    case 1:
      return MultiplyRows<kFormat, 1>(a);
    case 2:
      return MultiplyRows<kFormat, 2>(a);
    case 3:
      return MultiplyRows<kFormat, 3>(a);
    default:
      return MultiplyRows<kFormat, 4>(a);
  }
}

template <PackedFormat kFormat>
void Unpack(const std::byte* unit, std::size_t k, const BlockPanel& out) {
  constexpr PackedLayout kLayout = LayoutOf(kFormat);
  constexpr std::size_t kGroups = CellGroups(kLayout.scales);
  BlockPanel to = out;
  for (std::size_t left = k / kCellInputs; left != 0;) {
    const std::size_t n_cells = left < kUnitCells ? left : kUnitCells;
    const UnitScales unit_scales = LoadUnitScales<kLayout.scales>(unit);
    for (std::size_t g = 0; g < n_cells * kGroups; ++g) {
      const Scales scales = LoadScales<kLayout.scales>(unit, unit_scales, g);
      StoreFloats(to.scale, scales.scale);
      to.scale += kBlockPanelOutputs;
      if constexpr (HasMin(kLayout.scales)) {
        StoreFloats(to.min, scales.min);
        to.min += kBlockPanelOutputs;
      }
    }
    unit += HeaderBytes(kLayout.scales, n_cells);
    for (std::size_t c = 0; c < n_cells; ++c, unit += CellBytes(kLayout.bits)) {
#pragma GCC unroll 4
      for (unsigned l = 0; l < 4; ++l) {
        Reg even, odd;
        Decode<kFormat>(unit, l, even, odd);
        StoreReg(to.q, even);
        StoreReg(to.q + kLineBytes, odd);
        to.q += 2 * kLineBytes;
      }
    }
    left -= n_cells;
  }
}

constexpr PackedBlocksFns kFunctions = {
    .unpack = {Unpack<PackedFormat::kQ4_0>, Unpack<PackedFormat::kQ4_1>,
               Unpack<PackedFormat::kQ5_0>, Unpack<PackedFormat::kQ5_1>,
               Unpack<PackedFormat::kQ8_0>, Unpack<PackedFormat::kQ2K>, Unpack<PackedFormat::kQ3K>,
               Unpack<PackedFormat::kQ4K>, Unpack<PackedFormat::kQ5K>, Unpack<PackedFormat::kQ6K>,
               Unpack<PackedFormat::kIq4Nl>, Unpack<PackedFormat::kIq4Xs>,
               Unpack<PackedFormat::kMxfp4>, Unpack<PackedFormat::kQ3_1>},
    .multiply = {Multiply<PackedFormat::kQ4_0>, Multiply<PackedFormat::kQ4_1>,
                 Multiply<PackedFormat::kQ5_0>, Multiply<PackedFormat::kQ5_1>,
                 Multiply<PackedFormat::kQ8_0>, Multiply<PackedFormat::kQ2K>,
                 Multiply<PackedFormat::kQ3K>, Multiply<PackedFormat::kQ4K>,
                 Multiply<PackedFormat::kQ5K>, Multiply<PackedFormat::kQ6K>,
                 Multiply<PackedFormat::kIq4Nl>, Multiply<PackedFormat::kIq4Xs>,
                 Multiply<PackedFormat::kMxfp4>, Multiply<PackedFormat::kQ3_1>},
};

}  // namespace
}  // namespace lattice::kernels
