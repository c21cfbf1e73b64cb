#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/packed_blocks/variants.h"

namespace lattice::kernels {

/// Inputs of a tile of weights: k is a multiple of it.
inline constexpr std::size_t kBf16PanelInputs = 32;

/// Rounds a panel of k inputs, w = scale * (q - zero) + min in f32, to bf16 [k / 2][16][2].
using ExpandBf16Fn = void (*)(const BlockPanel& panel, const BlockForm& form, std::size_t k,
                              std::uint16_t* out);

/// y[i * y_stride + j] for m rows of x and n outputs; see bf16_panels.h.
struct Bf16PanelsArgs {
  const std::uint16_t* x = nullptr;  ///< rows of k values in bf16
  std::size_t x_stride = 0;          ///< in values
  std::size_t m = 0;
  const std::uint16_t* const* w = nullptr;  ///< a panel for each sixteen outputs, 64-byte aligned
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using DotBf16PanelsFn = void (*)(const Bf16PanelsArgs& args);

/// Rows of x that MultiplyPackedBf16Fn takes at most.
inline constexpr std::size_t kBf16PieceRows = 16;

/// The same from packed weights, which are expanded a piece at a time and stay in the first cache.
struct PackedBf16Args {
  const std::uint16_t* x = nullptr;
  std::size_t x_stride = 0;
  std::size_t m = 0;  ///< 1 to kBf16PieceRows
  const std::byte* panels = nullptr;
  std::size_t panel_bytes = 0, piece_bytes = 0;  ///< of k and of kBf16PieceInputs inputs
  UnpackPackedFn unpack = nullptr;
  BlockForm form;
  std::byte* scratch = nullptr;  ///< kBf16PieceBytes, 64-byte aligned
  std::size_t n = 0;
  std::size_t k = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
};
using MultiplyPackedBf16Fn = void (*)(const PackedBf16Args& args);

/// Inputs of a piece: whole blocks of every format.
inline constexpr std::size_t kBf16PieceInputs = 512;
inline constexpr std::size_t kBf16PieceBytes =
    kBf16PieceInputs * kBlockPanelOutputs * (sizeof(std::uint16_t) + 1) +
    2 * kBf16PieceInputs / 16 * kBlockPanelOutputs * sizeof(float);

struct Bf16PanelsFns {
  ExpandBf16Fn expand = nullptr;
  DotBf16PanelsFn dot = nullptr;
  MultiplyPackedBf16Fn multiply_packed = nullptr;
};

extern const Bf16PanelsFns kBf16PanelsAmx;

}  // namespace lattice::kernels
