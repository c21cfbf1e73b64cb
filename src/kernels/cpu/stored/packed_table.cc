#include "kernels/cpu/stored/packed_table.h"

#include <cstdint>

#include "lattice/check.h"

namespace lattice::kernels {

void PackedTable::ReadRow(std::size_t i, std::size_t begin, std::span<float> out) const {
  LATTICE_DCHECK(begin % kPiece == 0 && out.size() <= kPiece && begin + out.size() <= cols_);
  // Sixteen rows are unpacked for one: a few microseconds beside the forward pass of a token.
  constexpr std::size_t kOutputs = kBlockPanelOutputs, kMaxGroups = kPiece / 16;
  alignas(64) std::uint8_t q[kPiece * kOutputs];
  alignas(64) float scale[kMaxGroups * kOutputs], min[kMaxGroups * kOutputs];
  const std::byte* panel = matrix_.panels + i / kOutputs * matrix_.panel_bytes;
  unpack_(panel + begin / kPiece * piece_bytes_, out.size(), {q, scale, min});
  const std::size_t o = i % kOutputs;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::size_t group = c / block_.group * kOutputs + o;
    const int code = q[(c / 4 * kOutputs + o) * 4 + c % 4] - block_.zero;
    out[c] = scale[group] * static_cast<float>(code);
    if (block_.has_min) out[c] += min[group];
  }
}

}  // namespace lattice::kernels
