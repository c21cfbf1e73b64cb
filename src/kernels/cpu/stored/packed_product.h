#pragma once

#include <cstddef>

#include "kernels/cpu/packed_blocks/packed_blocks.h"
#include "kernels/cpu/stored/chunk_weights.h"
#include "kernels/cpu/stored/input_rows.h"
#include "kernels/cpu/stored/packed_matrix.h"
#include "kernels/cpu/stored/stored_kernels.h"

namespace lattice::kernels {

/// A product x W^T with packed weights: with rows of 8-bit blocks or pairs of them, or through bf16
/// tiles.
class PackedProduct {
 public:
  static bool Takes(InputForm form) {
    return form == InputForm::kBlocks || form == InputForm::kBlockPairs ||
           form == InputForm::kBf16Plain;
  }
  /// form: one that it takes.
  PackedProduct(const PackedMatrix& packed, std::size_t inputs, InputForm form)
      : packed_(packed), block_(BlockFormOf(packed.format)), inputs_(inputs), form_(form) {}

  const PackedMatrix& matrix() const { return packed_; }

  /// These as StoredProduct describes; begin is a multiple of kBlockPanelOutputs.
  std::size_t ScratchBytes() const;
  ChunkWeights Load(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                    std::size_t n_rows, std::byte* scratch) const;
  void Multiply(const StoredKernels& kernels, const ChunkWeights& weights, const InputRows& x,
                std::size_t row, std::size_t n_rows, float* y, std::size_t y_stride) const;

 private:
  bool IsInPlace(const StoredKernels& kernels, std::size_t n_rows) const;
  std::size_t PanelBytes() const;
  void MultiplyBlocks(const StoredKernels& kernels, const ChunkWeights& weights,
                      const QuantisedRows& x, std::size_t n_rows, float* y,
                      std::size_t y_stride) const;
  void MultiplyPairs(const StoredKernels& kernels, const ChunkWeights& weights,
                     const QuantisedRows& x, std::size_t n_rows, float* y,
                     std::size_t y_stride) const;
  void MultiplyBf16(const StoredKernels& kernels, const ChunkWeights& weights,
                    const std::uint16_t* x, std::size_t x_stride, std::size_t n_rows, float* y,
                    std::size_t y_stride) const;

  PackedMatrix packed_;
  BlockForm block_;
  std::size_t inputs_;
  InputForm form_;
};

}  // namespace lattice::kernels
