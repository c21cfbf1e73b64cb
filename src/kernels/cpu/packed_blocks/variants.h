#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dot_blocks/variants.h"

namespace lattice::kernels {

/// Ways to keep sixteen rows of block-quantised weights side by side; see packed_layout.inl. Files'
/// formats that differ in the order of their bits alone share one.
enum class PackedFormat : std::uint8_t {
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2K,
  kQ3K,
  kQ4K,
  kQ5K,
  kQ6K,
  kIq4Nl,
  kIq4Xs,
  kMxfp4,
  kQ3_1,
};
inline constexpr std::size_t kPackedFormats = 14;

/// Rows of x that MultiplyPackedFn takes at most.
inline constexpr std::size_t kPackedProductRows = 4;

/// y[i * y_stride + j] for m rows of x and n outputs, as dot_blocks.h defines.
struct PackedProductArgs {
  QuantisedRows x;
  std::size_t m = 0;                  ///< 1 to kPackedProductRows
  const std::byte* panels = nullptr;  ///< of sixteen outputs each, one behind the other
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using MultiplyPackedFn = void (*)(const PackedProductArgs& args);
/// A panel of k inputs as small integers.
using UnpackPackedFn = void (*)(const std::byte* panel, std::size_t k, const BlockPanel& out);

/// By format.
struct PackedBlocksFns {
  UnpackPackedFn unpack[kPackedFormats];
  MultiplyPackedFn multiply[kPackedFormats];  ///< Null where DotBlocks does as well.
};

extern const PackedBlocksFns kPackedBlocksScalar;
extern const PackedBlocksFns kPackedBlocksAvx2;
extern const PackedBlocksFns kPackedBlocksAvxVnni;
extern const PackedBlocksFns kPackedBlocksAvx512Vnni;
extern const PackedBlocksFns kPackedBlocksNeon;
extern const PackedBlocksFns kPackedBlocksNeonDotprod;

}  // namespace lattice::kernels
