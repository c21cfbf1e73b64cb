#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantise_blocks/variants.h"

namespace lattice::kernels {

/// Outputs of a panel, side by side.
inline constexpr std::size_t kBlockPanelOutputs = 16;

/// Sixteen rows of weights as small integers, w = scale * (q - zero) + min. 64-byte aligned.
struct BlockPanel {
  std::uint8_t* q = nullptr;  ///< [k / 4][16][4]
  float* scale = nullptr;     ///< [k / group][16]
  float* min = nullptr;       ///< [k / group][16]; written for formats that have it
};

/// Rows of x as quantise_blocks leaves them.
struct QuantisedRows {
  const std::int8_t* q = nullptr;  ///< 64-byte aligned rows
  std::size_t q_stride = 0;
  const float* scale = nullptr;
  const float* offset = nullptr;
  const std::int32_t* sums = nullptr;
  const std::int32_t* half_sums = nullptr;
  std::size_t n_blocks = 0;  ///< of a row: the stride of these arrays, but half of half_sums'
};

/// y[i * y_stride + j] for m rows of x and n outputs; see dot_blocks.h.
struct DotBlocksArgs {
  QuantisedRows x;
  std::size_t m = 0;
  const BlockPanel* w = nullptr;  ///< one for each sixteen outputs
  std::size_t n = 0;
  std::size_t group = 32;  ///< 16 or 32
  std::int32_t zero =
      0;  ///< Of what the variant reads: 128 for integers of 8 bits, 32 of 6, others of 5 or fewer
  bool has_min = false;
  std::size_t k = 0;  ///< a multiple of 32
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotBlocksFn = void (*)(const DotBlocksArgs& args);

void DotBlocksScalar(const DotBlocksArgs& args);
void DotBlocksAvx2(const DotBlocksArgs& args);
void DotBlocksAvxVnni(const DotBlocksArgs& args);
void DotBlocksAvx512Vnni(const DotBlocksArgs& args);
void DotBlocksAmxInt8(const DotBlocksArgs& args);
void DotBlocksNeon(const DotBlocksArgs& args);
void DotBlocksNeonDotprod(const DotBlocksArgs& args);

}  // namespace lattice::kernels
