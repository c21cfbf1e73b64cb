// How packed panels lie in memory. For the .cc files of this folder: functions that each of them
// has for itself.
//
// A panel has sixteen outputs. It is a row of units of 256 inputs, the last of which may be
// shorter; a unit is a header with the scales, then a cell for each 32 inputs. Headers and cells
// are whole lines of 64 bytes. In a line of a cell byte 4 * o + b belongs to output o, and step s
// of a cell is its four inputs 4 * s + b, b < 4. A cell has, as far as its codes have such bits:
//   nibbles  four lines; line l holds step 2 l in the lower nibble and step 2 l + 1 in the upper
//   one pairs    two lines: two bits, step s at bit 2 * (s % 4) of line s / 4 singles  a line: one
//   bit, step s at bit s bytes    eight lines: step s in line s
// Codes of 2 bits are pairs, 3 pairs and singles above them, 4 nibbles, 5 nibbles and singles, 6
// nibbles and pairs, 8 bytes. A cell takes as many lines as a code has bits.

#include "kernels/cpu/packed_blocks/variants.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kCellInputs = 32;
constexpr std::size_t kStepInputs = 4;
constexpr std::size_t kCellSteps = kCellInputs / kStepInputs;
constexpr std::size_t kUnitCells = 8;
constexpr std::size_t kUnitInputs = kUnitCells * kCellInputs;

// What a header holds; "each" is of sixteen outputs, side by side.
enum class PackedScales : std::uint8_t {
  kHalves,     // for each cell an f16
  kHalfPairs,  // for each cell a scale, then a minimum, both f16
  kExponents,  // for each cell a byte e: 2^(e - 128)
  kBytePairs,  // d and dmin, f16; 8 scales, then 8 minima, bytes: d * scale, -(dmin * minimum)
  kSigned,     // d, f16; 8 scales, signed bytes
  kSigned16,   // the same with 16 scales, each of 16 inputs
  kNibbles16,  // d and dmin, f16; 16 bytes, of 16 inputs: a scale in the lower nibble, a minimum
};

// What a code stands for.
enum class PackedCodes : std::uint8_t { kPlain, kIq4, kMxfp4 };

struct PackedLayout {
  unsigned bits;
  PackedScales scales;
  unsigned zero;  // 0 or a power of two
  PackedCodes codes = PackedCodes::kPlain;
};

// By PackedFormat.
constexpr PackedLayout kPackedLayouts[kPackedFormats] = {
    {4, PackedScales::kHalves, 8},                           // q4_0
    {4, PackedScales::kHalfPairs, 0},                        // q4_1
    {5, PackedScales::kHalves, 16},                          // q5_0
    {5, PackedScales::kHalfPairs, 0},                        // q5_1
    {8, PackedScales::kHalves, 128},                         // q8_0
    {2, PackedScales::kNibbles16, 0},                        // q2_k
    {3, PackedScales::kSigned16, 4},                         // q3_k
    {4, PackedScales::kBytePairs, 0},                        // q4_k
    {5, PackedScales::kBytePairs, 0},                        // q5_k
    {6, PackedScales::kSigned16, 32},                        // q6_k
    {4, PackedScales::kHalves, 128, PackedCodes::kIq4},      // iq4_nl
    {4, PackedScales::kSigned, 128, PackedCodes::kIq4},      // iq4_xs
    {4, PackedScales::kExponents, 16, PackedCodes::kMxfp4},  // mxfp4
    {3, PackedScales::kHalfPairs, 0},                        // q3_1
};

constexpr PackedLayout LayoutOf(PackedFormat format) {
  return kPackedLayouts[static_cast<std::size_t>(format)];
}

constexpr bool HasNibbles(unsigned bits) { return bits >= 4 && bits < 8; }
constexpr bool HasPairs(unsigned bits) { return bits == 2 || bits == 3 || bits == 6; }
constexpr bool HasSingles(unsigned bits) { return bits == 3 || bits == 5; }

// Where the lines of a kind begin in a cell.
constexpr std::size_t PairsAt(unsigned bits) { return HasNibbles(bits) ? 4 * kLineBytes : 0; }
constexpr std::size_t SinglesAt(unsigned bits) {
  return PairsAt(bits) + (HasPairs(bits) ? 2 * kLineBytes : 0);
}

constexpr bool HasMin(PackedScales s) {
  return s == PackedScales::kHalfPairs || s == PackedScales::kBytePairs ||
         s == PackedScales::kNibbles16;
}
// Groups of a scale each in a cell.
constexpr std::size_t CellGroups(PackedScales s) {
  return s == PackedScales::kSigned16 || s == PackedScales::kNibbles16 ? 2 : 1;
}

constexpr std::size_t WholeLines(std::size_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}
constexpr std::size_t kHalvesBytes = 2 * kBlockPanelOutputs;

constexpr std::size_t HeaderBytes(PackedScales scales, std::size_t n_cells) {
  switch (scales) {
    case PackedScales::kHalves:
      return WholeLines(n_cells * kHalvesBytes);
    case PackedScales::kHalfPairs:
      return n_cells * 2 * kHalvesBytes;
    case PackedScales::kExponents:
      return WholeLines(n_cells * kBlockPanelOutputs);
    case PackedScales::kBytePairs:
    case PackedScales::kNibbles16:
      return 2 * kHalvesBytes + 16 * kBlockPanelOutputs;
    case PackedScales::kSigned:
      return WholeLines(kHalvesBytes + 8 * kBlockPanelOutputs);
    case PackedScales::kSigned16:
      return WholeLines(kHalvesBytes + 16 * kBlockPanelOutputs);
  }
  return 0;
}

constexpr std::size_t CellBytes(unsigned bits) { return bits * kLineBytes; }

constexpr std::size_t UnitBytes(const PackedLayout& layout, std::size_t n_cells) {
  return HeaderBytes(layout.scales, n_cells) + n_cells * CellBytes(layout.bits);
}

constexpr std::size_t PanelBytes(const PackedLayout& layout, std::size_t k) {
  const std::size_t rest = k % kUnitInputs / kCellInputs;
  return k / kUnitInputs * UnitBytes(layout, kUnitCells) +
         (rest == 0 ? 0 : UnitBytes(layout, rest));
}

// The values of IQ4_NL and IQ4_XS, plus 128.
constexpr std::uint8_t kIq4Table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                        129, 141, 153, 166, 181, 197, 217, 241};
// Those of MXFP4, doubled, plus 16.
constexpr std::uint8_t kMxfp4Table[16] = {16, 17, 18, 19, 20, 22, 24, 28,
                                          16, 15, 14, 13, 12, 10, 8,  4};

}  // namespace
}  // namespace lattice::kernels
