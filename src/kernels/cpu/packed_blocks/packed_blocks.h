#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu_features.h"
#include "kernels/cpu/packed_blocks/variants.h"
#include "numeric/dtype.h"

namespace lattice::kernels {

/// Part of the tag of packed weights that are kept: to be counted up when their layout changes.
inline constexpr std::uint64_t kPackedVersion = 1;

/// How packed weights read as integers: w = scale * (q - zero) + min, q in 0..255, for every
/// `group` weights a scale and a minimum. scale and min are the f32 products that the format's
/// definition (numeric/decode_blocks.h) takes.
struct BlockForm {
  std::size_t group = 32;  ///< 16 or 32
  std::int32_t zero = 0;
  bool has_min = false;
};

/// dtype must satisfy IsBlock.
PackedFormat PackedFormatOf(Dtype dtype);
BlockForm BlockFormOf(PackedFormat format);

/// Bytes of sixteen outputs of k inputs, whole blocks; a multiple of 64. Beside those of the file:
/// 2.8 % more for q4_k, 2.9 % for iq4_xs, 5.5 % for q3_k, none to 2.3 % for others.
std::size_t PackedPanelBytes(PackedFormat format, std::size_t k);

/// Lays out a panel: rows, at most sixteen, of k inputs in the blocks of `dtype`, at any alignment.
/// `out` has PackedPanelBytes, all of which are written.
void PackPanel(Dtype dtype, std::span<const std::byte* const> rows, std::size_t k, std::byte* out);

/// Unpacking gives the same bits in all variants, and multiplying those of DotBlocks.
struct PackedBlocksVariant {
  const char* name;
  CpuFeatures needs;
  const PackedBlocksFns* run;
};

/// All variants of this architecture, fastest first; the last runs anywhere.
std::span<const PackedBlocksVariant> PackedBlocksVariants();
const PackedBlocksVariant& SelectPackedBlocks(CpuFeatures cpu);

}  // namespace lattice::kernels
