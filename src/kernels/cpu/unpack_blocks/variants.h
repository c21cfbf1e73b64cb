#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::kernels {

/// Outputs of a panel, side by side.
inline constexpr std::size_t kBlockPanelOutputs = 16;

/// Sixteen rows of block-quantised weights as small integers; see unpack_blocks.h.
struct BlockPanel {
  std::uint8_t* q = nullptr;  ///< [k / 4][16][4]
  float* scale = nullptr;     ///< [k / group][16]
  float* min = nullptr;       ///< [k / group][16]; written for formats that have it
};

/// rows: sixteen pointers to rows of k weights, at any alignment, and sixteen to what is to be
/// fetched into the caches beside them; k whole blocks. The panel's arrays are 64-byte aligned.
using UnpackBlocksFn = void (*)(const std::byte* const* rows, std::size_t k,
                                const BlockPanel& panel);

/// Null where an instruction set has no code of its own for a format.
struct UnpackBlocksFns {
  UnpackBlocksFn q4_0 = nullptr, q4_1 = nullptr, q5_0 = nullptr, q5_1 = nullptr, q8_0 = nullptr;
  UnpackBlocksFn q2_k = nullptr, q3_k = nullptr, q4_k = nullptr, q5_k = nullptr, q6_k = nullptr;
  UnpackBlocksFn iq4_nl = nullptr, iq4_xs = nullptr, mxfp4 = nullptr, khq4 = nullptr;
};

extern const UnpackBlocksFns kUnpackBlocksAvx2;
extern const UnpackBlocksFns kUnpackBlocksAvx512;
extern const UnpackBlocksFns kUnpackBlocksNeon;

}  // namespace lattice::kernels
