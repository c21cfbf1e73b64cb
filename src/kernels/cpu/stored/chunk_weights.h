#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/cpu/dot_blocks/variants.h"
#include "kernels/cpu/dot_f32/dot_f32.h"

namespace lattice::kernels {

/// Outputs that a worker computes at a time.
inline constexpr std::size_t kChunkOutputs = 32;

/// A few outputs' weights, ready for the kernels: where they lie, as rows or packed, or in scratch
/// memory, widened or as panels.
struct ChunkWeights {
  std::size_t n = 0;
  FloatRow kind = FloatRow::kF32;
  std::array<const std::byte*, kChunkOutputs + kRowsAhead> rows = {};
  std::array<BlockPanel, kChunkOutputs / kBlockPanelOutputs> panels = {};
  std::array<const std::uint16_t*, kChunkOutputs / kBlockPanelOutputs> bf16_panels = {};
  const std::uint16_t* bf16_many = nullptr;  ///< bf16, laid out for many rows of x.
  std::optional<std::size_t> unread;  ///< Of n rows that are widened while they are multiplied.
  const std::byte* packed = nullptr;  ///< Multiplied as they lie packed; null: see the others.
  std::byte* scratch = nullptr;       ///< for multiplying them
};

}  // namespace lattice::kernels
