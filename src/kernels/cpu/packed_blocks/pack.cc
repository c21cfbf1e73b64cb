#include <cstring>

#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/packed_blocks/packed_layout.inl"
#include "lattice/check.h"
#include "numeric/blocks.h"

namespace lattice::kernels {
namespace {

// The fields of a block, one element of each array after the other. Short blocks use the first
// elements only, and formats the fields that they have.
struct Fields {
  std::uint8_t q[kUnitInputs];
  std::uint8_t scales[16];
  std::uint8_t mins[8];
  std::uint16_t d;
  std::uint16_t min;
};

std::uint8_t Byte(int v) { return static_cast<std::uint8_t>(v); }

// The lower nibbles of n bytes, then the upper ones.
void ReadNibbles(const std::uint8_t* qs, std::size_t n, std::uint8_t* q) {
  for (std::size_t i = 0; i < n; ++i) q[i] = Byte(qs[i] & 15);
  for (std::size_t i = 0; i < n; ++i) q[n + i] = Byte(qs[i] >> 4);
}
void AddFifthBits(const std::uint8_t (&qh)[4], std::uint8_t* q) {
  for (std::size_t i = 0; i < 32; ++i) q[i] = Byte(q[i] | ((qh[i / 8] >> (i % 8)) & 1) << 4);
}

void Read(const BlockQ4_0& b, Fields& out) {
  out.d = b.d;
  ReadNibbles(b.qs, 16, out.q);
}
void Read(const BlockQ4_1& b, Fields& out) {
  out.d = b.d;
  out.min = b.m;
  ReadNibbles(b.qs, 16, out.q);
}
void Read(const BlockQ5_0& b, Fields& out) {
  out.d = b.d;
  ReadNibbles(b.qs, 16, out.q);
  AddFifthBits(b.qh, out.q);
}
void Read(const BlockQ5_1& b, Fields& out) {
  out.d = b.d;
  out.min = b.m;
  ReadNibbles(b.qs, 16, out.q);
  AddFifthBits(b.qh, out.q);
}
void Read(const BlockQ8_0& b, Fields& out) {
  out.d = b.d;
  for (std::size_t i = 0; i < 32; ++i) out.q[i] = Byte(b.qs[i] ^ 0x80);  // plus 128
}
void Read(const BlockIq4Nl& b, Fields& out) {
  out.d = b.d;
  ReadNibbles(b.qs, 16, out.q);
}
void Read(const BlockMxfp4& b, Fields& out) {
  out.scales[0] = b.e;
  ReadNibbles(b.qs, 16, out.q);
}
void Read(const BlockKhq4& b, Fields& out) {
  out.d = b.scale;
  out.min = b.bias;
  for (std::size_t i = 0; i < 16; ++i) {
    out.q[2 * i] = Byte(b.qs[i] & 15);
    out.q[2 * i + 1] = Byte(b.qs[i] >> 4);
  }
}
void Read(const BlockKhq3& b, Fields& out) {
  out.d = b.scale;
  out.min = b.bias;
  for (std::size_t i = 0; i < 32; ++i) {
    const int low = (b.low[i / 4] >> (2 * (i % 4))) & 3;
    const int high = (b.high[i / 8] >> (i % 8)) & 1;
    out.q[i] = Byte(low | high << 2);
  }
}

void Read(const BlockQ2K& b, Fields& out) {
  out.d = b.d;
  out.min = b.dmin;
  std::memcpy(out.scales, b.scales, sizeof(b.scales));
  for (std::size_t i = 0; i < 256; i += 32) {
    for (std::size_t l = 0; l < 32; ++l) {
      out.q[i + l] = Byte((b.qs[32 * (i / 128) + l] >> (i % 128 / 32 * 2)) & 3);
    }
  }
}
void Read(const BlockQ3K& b, Fields& out) {
  out.d = b.d;
  for (std::size_t k = 0; k < 16; ++k) {
    const int low = k < 8 ? b.scales[k] & 15 : b.scales[k - 8] >> 4;
    const int high = (b.scales[8 + k % 4] >> (2 * (k / 4))) & 3;
    out.scales[k] = Byte((low | high << 4) - 32);
  }
  for (std::size_t i = 0; i < 256; i += 32) {
    for (std::size_t l = 0; l < 32; ++l) {
      const int low = (b.qs[32 * (i / 128) + l] >> (i % 128 / 32 * 2)) & 3;
      out.q[i + l] = Byte(low | ((b.hmask[l] >> (i / 32)) & 1) << 2);
    }
  }
}

// Scales and minima of Q4_K and Q5_K: eight of each, 6 bits, in twelve bytes.
void ReadGroupScales(const std::uint8_t (&s)[12], Fields& out) {
  for (std::size_t g = 0; g < 8; ++g) {
    out.scales[g] = Byte(g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4);
    out.mins[g] = Byte(g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4);
  }
}
void Read(const BlockQ4K& b, Fields& out) {
  out.d = b.d;
  out.min = b.dmin;
  ReadGroupScales(b.scales, out);
  for (std::size_t i = 0; i < 4; ++i) ReadNibbles(b.qs + 32 * i, 32, out.q + 64 * i);
}
void Read(const BlockQ5K& b, Fields& out) {
  out.d = b.d;
  out.min = b.dmin;
  ReadGroupScales(b.scales, out);
  for (std::size_t i = 0; i < 4; ++i) ReadNibbles(b.qs + 32 * i, 32, out.q + 64 * i);
  for (std::size_t i = 0; i < 256; i += 32) {
    for (std::size_t l = 0; l < 32; ++l) {
      out.q[i + l] = Byte(out.q[i + l] | ((b.qh[l] >> (i / 32)) & 1) << 4);
    }
  }
}
void Read(const BlockQ6K& b, Fields& out) {
  out.d = b.d;
  std::memcpy(out.scales, b.scales, sizeof(b.scales));
  for (std::size_t n = 0; n < 2; ++n) {
    ReadNibbles(b.ql + 64 * n, 64, out.q + 128 * n);
    for (std::size_t i = 0; i < 128; i += 32) {
      for (std::size_t l = 0; l < 32; ++l) {
        std::uint8_t& q = out.q[128 * n + i + l];
        q = Byte(q | ((b.qh[32 * n + l] >> (i / 32 * 2)) & 3) << 4);
      }
    }
  }
}
void Read(const BlockIq4Xs& b, Fields& out) {
  out.d = b.d;
  for (std::size_t g = 0; g < 8; ++g) {
    const int low = (b.scales_l[g / 2] >> (4 * (g % 2))) & 15;
    const int high = (b.scales_h >> (2 * g)) & 3;
    out.scales[g] = Byte((low | high << 4) - 32);
  }
  for (std::size_t g = 0; g < 8; ++g) ReadNibbles(b.qs + 16 * g, 16, out.q + 32 * g);
}

// The codes of a cell, step by step, sixteen outputs side by side.
using Steps = std::uint8_t[kCellSteps][kLineBytes];

// The lines of a cell.
void PackCell(unsigned bits, const Steps& steps, std::uint8_t* cell) {
  if (bits == 8) {
    std::memcpy(cell, steps, sizeof(steps));
    return;
  }
  if (HasNibbles(bits)) {
    for (std::size_t l = 0; l < 4; ++l) {
      for (std::size_t i = 0; i < kLineBytes; ++i) {
        cell[l * kLineBytes + i] = Byte((steps[2 * l][i] & 15) | steps[2 * l + 1][i] << 4);
      }
    }
  }
  const unsigned lower = HasNibbles(bits) ? 4 : 0;
  for (std::size_t h = 0; HasPairs(bits) && h < 2; ++h) {
    const auto& four = steps + 4 * h;
    for (std::size_t i = 0; i < kLineBytes; ++i) {
      const auto pair = [&](std::size_t s) { return ((four[s][i] >> lower) & 3) << (2 * s); };
      cell[PairsAt(bits) + h * kLineBytes + i] = Byte(pair(0) | pair(1) | pair(2) | pair(3));
    }
  }
  if (!HasSingles(bits)) return;
  for (std::size_t i = 0; i < kLineBytes; ++i) {
    int line = 0;
    for (std::size_t s = 0; s < kCellSteps; ++s) line |= (steps[s][i] >> (bits - 1)) << s;
    cell[SinglesAt(bits) + i] = Byte(line);
  }
}

// What the header of a unit has of output r, for the cells from `cell` on.
void PackScales(PackedScales scales, const Fields& from, std::size_t r, std::size_t cell,
                std::uint8_t* header) {
  const auto put_half = [&](std::size_t at, std::uint16_t half) {
    std::memcpy(header + at + 2 * r, &half, 2);
  };
  const auto put_bytes = [&](std::size_t at, const std::uint8_t* bytes, std::size_t n) {
    for (std::size_t g = 0; g < n; ++g) header[at + g * kBlockPanelOutputs + r] = bytes[g];
  };
  switch (scales) {
    case PackedScales::kHalves:
      return put_half(cell * kHalvesBytes, from.d);
    case PackedScales::kHalfPairs:
      put_half(cell * 2 * kHalvesBytes, from.d);
      return put_half((cell * 2 + 1) * kHalvesBytes, from.min);
    case PackedScales::kExponents:
      return put_bytes(cell * kBlockPanelOutputs, from.scales, 1);
    case PackedScales::kBytePairs:
      put_half(0, from.d);
      put_half(kHalvesBytes, from.min);
      put_bytes(2 * kHalvesBytes, from.scales, 8);
      return put_bytes(2 * kHalvesBytes + 8 * kBlockPanelOutputs, from.mins, 8);
    case PackedScales::kSigned:
      put_half(0, from.d);
      return put_bytes(kHalvesBytes, from.scales, 8);
    case PackedScales::kSigned16:
      put_half(0, from.d);
      return put_bytes(kHalvesBytes, from.scales, 16);
    case PackedScales::kNibbles16:
      put_half(0, from.d);
      put_half(kHalvesBytes, from.min);
      return put_bytes(2 * kHalvesBytes, from.scales, 16);
  }
}

template <typename Block>
void Pack(const PackedLayout& layout, std::span<const std::byte* const> rows, std::size_t k,
          std::byte* out) {
  constexpr std::size_t kBlockCells = Block::kElements / kCellInputs;
  Steps steps[kUnitCells] = {};  // outputs that are missing stay zero
  auto* unit = reinterpret_cast<std::uint8_t*>(out);
  for (std::size_t first = 0; first < k; first += kUnitInputs) {
    const std::size_t n_cells = (k - first < kUnitInputs ? k - first : kUnitInputs) / kCellInputs;
    const std::size_t header_bytes = HeaderBytes(layout.scales, n_cells);
    std::memset(unit, 0, header_bytes);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::byte* blocks = rows[r] + first / Block::kElements * sizeof(Block);
      for (std::size_t c = 0; c < n_cells; c += kBlockCells) {
        Block block;
        std::memcpy(&block, blocks + c / kBlockCells * sizeof(Block), sizeof(Block));
        Fields fields;
        Read(block, fields);
        PackScales(layout.scales, fields, r, c, unit);
        for (std::size_t s = 0; s < kBlockCells * kCellSteps; ++s) {
          std::memcpy(&steps[c + s / kCellSteps][s % kCellSteps][4 * r], fields.q + 4 * s, 4);
        }
      }
    }
    unit += header_bytes;
    for (std::size_t c = 0; c < n_cells; ++c, unit += CellBytes(layout.bits)) {
      PackCell(layout.bits, steps[c], unit);
    }
  }
}

}  // namespace

void PackPanel(Dtype dtype, std::span<const std::byte* const> rows, std::size_t k, std::byte* out) {
  LATTICE_DCHECK(rows.size() <= kBlockPanelOutputs);
  const PackedLayout layout = LayoutOf(PackedFormatOf(dtype));
  switch (dtype) {
    case Dtype::kQ4_0:
      return Pack<BlockQ4_0>(layout, rows, k, out);
    case Dtype::kQ4_1:
      return Pack<BlockQ4_1>(layout, rows, k, out);
    case Dtype::kQ5_0:
      return Pack<BlockQ5_0>(layout, rows, k, out);
    case Dtype::kQ5_1:
      return Pack<BlockQ5_1>(layout, rows, k, out);
    case Dtype::kQ8_0:
      return Pack<BlockQ8_0>(layout, rows, k, out);
    case Dtype::kQ2K:
      return Pack<BlockQ2K>(layout, rows, k, out);
    case Dtype::kQ3K:
      return Pack<BlockQ3K>(layout, rows, k, out);
    case Dtype::kQ4K:
      return Pack<BlockQ4K>(layout, rows, k, out);
    case Dtype::kQ5K:
      return Pack<BlockQ5K>(layout, rows, k, out);
    case Dtype::kQ6K:
      return Pack<BlockQ6K>(layout, rows, k, out);
    case Dtype::kIq4Nl:
      return Pack<BlockIq4Nl>(layout, rows, k, out);
    case Dtype::kIq4Xs:
      return Pack<BlockIq4Xs>(layout, rows, k, out);
    case Dtype::kMxfp4:
      return Pack<BlockMxfp4>(layout, rows, k, out);
    case Dtype::kKhq4:
      return Pack<BlockKhq4>(layout, rows, k, out);
    case Dtype::kKhq3:
      return Pack<BlockKhq3>(layout, rows, k, out);
    default:
      internal::CheckFailed("block format", __FILE__, __LINE__);
  }
}

}  // namespace lattice::kernels
