#include "kernels/cpu/packed_blocks/packed_layout.inl"
#include "numeric/decode_blocks.h"
#include "numeric/float16.h"

// The plain definition of what a packed panel holds, one weight at a time.

namespace lattice::kernels {
namespace {

// The code of step s at byte `i` of the lines of a cell.
unsigned CodeAt(unsigned bits, const std::uint8_t* cell, std::size_t s, std::size_t i) {
  if (bits == 8) return cell[s * kLineBytes + i];
  unsigned code = 0, have = 0;
  if (HasNibbles(bits)) {
    code = (cell[s / 2 * kLineBytes + i] >> (4 * (s % 2))) & 15u;
    have = 4;
  }
  if (HasPairs(bits)) {
    const unsigned line = cell[PairsAt(bits) + s / 4 * kLineBytes + i];
    code |= ((line >> (2 * (s % 4))) & 3u) << have;
    have += 2;
  }
  if (HasSingles(bits)) code |= ((cell[SinglesAt(bits) + i] >> s) & 1u) << have;
  return code;
}

unsigned IntegerOf(PackedCodes codes, unsigned code) {
  if (codes == PackedCodes::kIq4) return kIq4Table[code];
  return codes == PackedCodes::kMxfp4 ? kMxfp4Table[code] : code;
}

float HalfAt(const std::uint8_t* header, std::size_t at, std::size_t o) {
  std::uint16_t half;
  __builtin_memcpy(&half, header + at + 2 * o, sizeof(half));
  return F16ToF32(half);
}

struct ScaleAndMin {
  float scale, min;
};

// Group g of the unit, output o.
ScaleAndMin ScalesAt(PackedScales scales, const std::uint8_t* header, std::size_t g,
                     std::size_t o) {
  const auto byte = [&](std::size_t at) { return header[at + g * kBlockPanelOutputs + o]; };
  const auto product = [](float d, int factor) { return d * static_cast<float>(factor); };
  const float d = HalfAt(header, 0, o);
  switch (scales) {
    case PackedScales::kHalves:
      return {HalfAt(header, g * kHalvesBytes, o), 0};
    case PackedScales::kHalfPairs:
      return {HalfAt(header, 2 * g * kHalvesBytes, o),
              HalfAt(header, (2 * g + 1) * kHalvesBytes, o)};
    case PackedScales::kExponents:
      return {Mxfp4Scale(byte(0)), 0};
    case PackedScales::kBytePairs:
      return {product(d, byte(2 * kHalvesBytes)),
              -product(HalfAt(header, kHalvesBytes, o),
                       byte(2 * kHalvesBytes + 8 * kBlockPanelOutputs))};
    case PackedScales::kSigned:
    case PackedScales::kSigned16:
      return {product(d, static_cast<std::int8_t>(byte(kHalvesBytes))), 0};
    case PackedScales::kNibbles16:
      return {product(d, byte(2 * kHalvesBytes) & 15),
              -product(HalfAt(header, kHalvesBytes, o), byte(2 * kHalvesBytes) >> 4)};
  }
  return {0, 0};
}

template <PackedFormat kFormat>
void Unpack(const std::byte* panel, std::size_t k, const BlockPanel& out) {
  constexpr PackedLayout kLayout = LayoutOf(kFormat);
  constexpr std::size_t kGroups = CellGroups(kLayout.scales);
  const auto* unit = reinterpret_cast<const std::uint8_t*>(panel);
  for (std::size_t first = 0; first < k; first += kUnitInputs) {
    const std::size_t n_cells = (k - first < kUnitInputs ? k - first : kUnitInputs) / kCellInputs;
    for (std::size_t g = 0; g < n_cells * kGroups; ++g) {
      for (std::size_t o = 0; o < kBlockPanelOutputs; ++o) {
        const std::size_t at = (first / kCellInputs * kGroups + g) * kBlockPanelOutputs + o;
        const ScaleAndMin s = ScalesAt(kLayout.scales, unit, g, o);
        out.scale[at] = s.scale;
        if (HasMin(kLayout.scales)) out.min[at] = s.min;
      }
    }
    const std::uint8_t* cells = unit + HeaderBytes(kLayout.scales, n_cells);
    for (std::size_t s = 0; s < n_cells * kCellSteps; ++s) {
      const std::uint8_t* cell = cells + s / kCellSteps * CellBytes(kLayout.bits);
      for (std::size_t i = 0; i < kLineBytes; ++i) {
        const unsigned code = CodeAt(kLayout.bits, cell, s % kCellSteps, i);
        out.q[(first / kStepInputs + s) * kLineBytes + i] =
            static_cast<std::uint8_t>(IntegerOf(kLayout.codes, code));
      }
    }
    unit += UnitBytes(kLayout, n_cells);
  }
}

}  // namespace

const PackedBlocksFns kPackedBlocksScalar = {
    .unpack = {Unpack<PackedFormat::kQ4_0>, Unpack<PackedFormat::kQ4_1>,
               Unpack<PackedFormat::kQ5_0>, Unpack<PackedFormat::kQ5_1>,
               Unpack<PackedFormat::kQ8_0>, Unpack<PackedFormat::kQ2K>, Unpack<PackedFormat::kQ3K>,
               Unpack<PackedFormat::kQ4K>, Unpack<PackedFormat::kQ5K>, Unpack<PackedFormat::kQ6K>,
               Unpack<PackedFormat::kIq4Nl>, Unpack<PackedFormat::kIq4Xs>,
               Unpack<PackedFormat::kMxfp4>, Unpack<PackedFormat::kQ3_1>},
    .multiply = {},
};

}  // namespace lattice::kernels
