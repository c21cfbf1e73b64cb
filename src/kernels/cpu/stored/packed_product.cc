#include "kernels/cpu/stored/packed_product.h"

#include <algorithm>

#include "lattice/check.h"

namespace lattice::kernels {
namespace {

constexpr std::size_t kPanels = kChunkOutputs / kBlockPanelOutputs;

QuantisedRows RowsFrom(QuantisedRows rows, std::size_t first) {
  rows.q += first * rows.q_stride;
  rows.scale += first * rows.n_blocks;
  rows.offset += first * rows.n_blocks;
  rows.sums += first * rows.n_blocks;
  rows.half_sums += 2 * first * rows.n_blocks;
  return rows;
}

}  // namespace

// Few rows are multiplied with the weights as they lie; for many each is unpacked once.
bool PackedProduct::IsInPlace(const StoredKernels& kernels, std::size_t n_rows) const {
  if (form_ == InputForm::kBf16Plain) return n_rows <= kBf16PieceRows;
  if (form_ == InputForm::kBlockPairs) n_rows *= 2;
  const auto format = static_cast<std::size_t>(packed_.format);
  return n_rows <= kPackedProductRows && kernels.packed->multiply[format] != nullptr;
}

std::size_t PackedProduct::PanelBytes() const {
  return kBlockPanelOutputs * (inputs_ + 2 * inputs_ / block_.group * sizeof(float));
}

std::size_t PackedProduct::ScratchBytes() const {
  if (form_ != InputForm::kBf16Plain) return kPanels * PanelBytes();
  return std::max(kBf16PieceBytes, PanelBytes() + kChunkOutputs * inputs_ * sizeof(std::uint16_t));
}

ChunkWeights PackedProduct::Load(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                                 std::size_t n_rows, std::byte* scratch) const {
  LATTICE_DCHECK(begin % kBlockPanelOutputs == 0);
  const std::byte* panels = packed_.panels + begin / kBlockPanelOutputs * packed_.panel_bytes;
  ChunkWeights weights;
  weights.n = n;
  if (IsInPlace(kernels, n_rows)) {
    weights.packed = panels;
    weights.scratch = scratch;
    return weights;
  }
  const UnpackPackedFn unpack = kernels.packed->unpack[static_cast<std::size_t>(packed_.format)];
  auto* expanded = reinterpret_cast<std::uint16_t*>(scratch + PanelBytes());
  for (std::size_t p = 0; p * kBlockPanelOutputs < n; ++p) {
    BlockPanel& panel = weights.panels[p];
    panel.q = reinterpret_cast<std::uint8_t*>(scratch);
    panel.scale = reinterpret_cast<float*>(scratch + inputs_ * kBlockPanelOutputs);
    panel.min = panel.scale + inputs_ / block_.group * kBlockPanelOutputs;
    unpack(panels + p * packed_.panel_bytes, inputs_, panel);
    if (form_ != InputForm::kBf16Plain) {
      kernels.dot_blocks.Suit(block_.group, block_.zero, inputs_, panel);
      scratch += PanelBytes();
      continue;
    }
    weights.bf16_panels[p] = expanded;
    kernels.bf16_panels->expand(panel, block_, inputs_, expanded);
    expanded += inputs_ * kBlockPanelOutputs;
  }
  return weights;
}

void PackedProduct::MultiplyBlocks(const StoredKernels& kernels, const ChunkWeights& weights,
                                   const QuantisedRows& x, std::size_t n_rows, float* y,
                                   std::size_t y_stride) const {
  if (weights.packed != nullptr) {
    kernels.packed->multiply[static_cast<std::size_t>(packed_.format)]({.x = x,
                                                                        .m = n_rows,
                                                                        .panels = weights.packed,
                                                                        .n = weights.n,
                                                                        .k = inputs_,
                                                                        .y = y,
                                                                        .y_stride = y_stride});
    return;
  }
  kernels.dot_blocks.run({.x = x,
                          .m = n_rows,
                          .w = weights.panels.data(),
                          .n = weights.n,
                          .group = block_.group,
                          .zero = kernels.dot_blocks.Zero(block_.group, block_.zero),
                          .has_min = block_.has_min,
                          .k = inputs_,
                          .y = y,
                          .y_stride = y_stride});
}

// The two terms of a row are rows to the kernels.
void PackedProduct::MultiplyPairs(const StoredKernels& kernels, const ChunkWeights& weights,
                                  const QuantisedRows& x, std::size_t n_rows, float* y,
                                  std::size_t y_stride) const {
  constexpr std::size_t kTileRows = 24;
  alignas(64) float tile[2 * kTileRows * kChunkOutputs];
  for (std::size_t row = 0; row < n_rows; row += kTileRows) {
    const std::size_t n = std::min(kTileRows, n_rows - row);
    MultiplyBlocks(kernels, weights, RowsFrom(x, 2 * row), 2 * n, tile, kChunkOutputs);
    for (std::size_t i = 0; i < n; ++i) {
      const float* terms = tile + 2 * i * kChunkOutputs;
      float* out = y + (row + i) * y_stride;
      for (std::size_t j = 0; j < weights.n; ++j) out[j] = terms[j] + terms[kChunkOutputs + j];
    }
  }
}

void PackedProduct::MultiplyBf16(const StoredKernels& kernels, const ChunkWeights& weights,
                                 const std::uint16_t* x, std::size_t x_stride, std::size_t n_rows,
                                 float* y, std::size_t y_stride) const {
  if (weights.packed == nullptr) {
    kernels.bf16_panels->dot({.x = x,
                              .x_stride = x_stride,
                              .m = n_rows,
                              .w = weights.bf16_panels.data(),
                              .n = weights.n,
                              .k = inputs_,
                              .y = y,
                              .y_stride = y_stride});
    return;
  }
  kernels.bf16_panels->multiply_packed(
      {.x = x,
       .x_stride = x_stride,
       .m = n_rows,
       .panels = weights.packed,
       .panel_bytes = packed_.panel_bytes,
       .piece_bytes = PackedPanelBytes(packed_.format, kBf16PieceInputs),
       .unpack = kernels.packed->unpack[static_cast<std::size_t>(packed_.format)],
       .form = block_,
       .scratch = weights.scratch,
       .n = weights.n,
       .k = inputs_,
       .y = y,
       .y_stride = y_stride});
}

void PackedProduct::Multiply(const StoredKernels& kernels, const ChunkWeights& weights,
                             const InputRows& x, std::size_t row, std::size_t n_rows, float* y,
                             std::size_t y_stride) const {
  if (form_ == InputForm::kBf16Plain) {
    return MultiplyBf16(kernels, weights, x.bf16_plain + row * x.bf16_plain_stride,
                        x.bf16_plain_stride, n_rows, y, y_stride);
  }
  if (form_ == InputForm::kBlockPairs) {
    return MultiplyPairs(kernels, weights, RowsFrom(x.blocks, 2 * row), n_rows, y, y_stride);
  }
  MultiplyBlocks(kernels, weights, RowsFrom(x.blocks, row), n_rows, y, y_stride);
}

}  // namespace lattice::kernels
