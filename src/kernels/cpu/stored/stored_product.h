#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kernels/cpu/stored/input_rows.h"
#include "kernels/cpu/stored/stored_kernels.h"
#include "kernels/cpu/stored/stored_matrix.h"
#include "kernels/cpu/unpack_blocks/unpack_blocks.h"

namespace lattice::kernels {

/// Outputs that a worker computes at a time.
inline constexpr std::size_t kChunkOutputs = 32;

/// A few outputs' weights, ready for the kernels: where they lie, or in scratch memory, widened or
/// as panels of small integers.
struct ChunkWeights {
  std::size_t n = 0;
  FloatRow kind = FloatRow::kF32;
  std::array<const std::byte*, kChunkOutputs + kRowsAhead> rows = {};
  std::array<BlockPanel, kChunkOutputs / kBlockPanelOutputs> panels = {};
  /// For one row of x panels are made piece by piece, when they are multiplied.
  std::size_t begin = 0;
  std::byte* scratch = nullptr;
};

/// A product x W^T with a matrix that stays where it lies. Bits of an output depend on its weights
/// and its row of x only.
class StoredProduct {
 public:
  StoredProduct(StoredMatrix matrix, Precision precision, const StoredKernels& kernels);

  const StoredMatrix& matrix() const { return matrix_; }
  InputForm form() const { return form_; }

  /// Scratch memory of Load for one chunk, whatever the number of rows; a multiple of 64.
  std::size_t ScratchBytes() const;
  /// Outputs [begin, begin + n), n <= kChunkOutputs, for n_rows rows of x. The result may point
  /// into scratch (64-byte aligned).
  ChunkWeights Load(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                    std::size_t n_rows, std::byte* scratch) const;
  /// y[i * y_stride + j]: rows [row, row + n_rows) of x with the outputs of `weights`.
  void Multiply(const StoredKernels& kernels, const ChunkWeights& weights, const InputRows& x,
                std::size_t row, std::size_t n_rows, float* y, std::size_t y_stride) const;

 private:
  bool IsInPlace(std::size_t n_rows) const;
  void Widen(const StoredKernels& kernels, std::size_t row, std::span<float> out) const;
  ChunkWeights LoadInPlace(std::size_t begin, std::size_t n, FloatRow kind) const;
  ChunkWeights LoadF32(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                       float* scratch) const;
  ChunkWeights LoadBf16(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                        std::byte* scratch) const;
  ChunkWeights LoadPanels(std::size_t begin, std::size_t n, std::byte* scratch) const;
  BlockPanel Unpack(std::size_t begin, std::size_t n, std::size_t first_input, std::size_t k,
                    std::byte* scratch) const;
  void MultiplyOneRow(const StoredKernels& kernels, const ChunkWeights& weights,
                      const QuantisedRows& x, float* y) const;

  StoredMatrix matrix_;
  InputForm form_;
  BlockForm block_form_;             // of kBlocks
  UnpackBlocksFn unpack_ = nullptr;  // of kBlocks
};

}  // namespace lattice::kernels
