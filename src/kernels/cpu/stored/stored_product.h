#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "kernels/cpu/stored/chunk_weights.h"
#include "kernels/cpu/stored/input_rows.h"
#include "kernels/cpu/stored/packed_product.h"
#include "kernels/cpu/stored/stored_kernels.h"
#include "kernels/cpu/stored/stored_matrix.h"

namespace lattice::kernels {

/// A product x W^T with a matrix that stays where it lies, or was laid out anew in panels of blocks
/// or in another format. Bits of an output depend on its weights and its row of x only.
class StoredProduct {
 public:
  /// `memory` outlives the product. Errors of StoredMatrix::Make and PackMatrix.
  static Result<StoredProduct> Make(ThreadPool& pool, WeightMemory& memory,
                                    const HostTensor& tensor, Precision precision,
                                    const StoredKernels& kernels);

  /// Whether weights of this format are laid out in panels.
  static bool Packs(Dtype dtype, Precision precision, const StoredKernels& kernels);

  std::size_t rows() const { return matrix_.rows(); }
  std::size_t cols() const { return matrix_.cols(); }
  InputForm form() const { return form_; }
  /// Null when the weights are not laid out in panels.
  const PackedMatrix* packed() const { return packed_ ? &packed_->matrix() : nullptr; }

  /// Scratch memory of Load for one chunk, whatever the number of rows; a multiple of 64.
  std::size_t ScratchBytes() const;
  /// Outputs [begin, begin + n), n <= kChunkOutputs, for n_rows rows of x. The result may point
  /// into scratch (64-byte aligned).
  ChunkWeights Load(const StoredKernels& kernels, const InputRows& x, std::size_t begin,
                    std::size_t n, std::size_t n_rows, std::byte* scratch) const;
  /// y[i * y_stride + j]: rows [row, row + n_rows) of x with the outputs of `weights`.
  void Multiply(const StoredKernels& kernels, const ChunkWeights& weights, const InputRows& x,
                std::size_t row, std::size_t n_rows, float* y, std::size_t y_stride) const;

 private:
  StoredProduct(StoredMatrix matrix, InputForm form) : matrix_(std::move(matrix)), form_(form) {}
  bool IsInPlace(std::size_t n_rows) const;
  void Widen(const StoredKernels& kernels, std::size_t row, std::span<float> out) const;
  ChunkWeights LoadInPlace(std::size_t begin, std::size_t n, FloatRow kind) const;
  ChunkWeights LoadF32(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                       float* scratch) const;
  void MultiplyF32(const StoredKernels& kernels, const ChunkWeights& weights, const InputRows& x,
                   std::size_t row, std::size_t n_rows, float* y, std::size_t y_stride) const;
  ChunkWeights LoadBf16(const StoredKernels& kernels, bool many_rows, std::size_t begin,
                        std::size_t n, std::byte* scratch) const;
  ChunkWeights RoundBf16(const StoredKernels& kernels, std::size_t begin, std::size_t n,
                         std::byte* scratch) const;

  StoredMatrix matrix_;  // when packed its shape only: its bytes may be gone
  InputForm form_;
  std::optional<PackedProduct> packed_;
};

}  // namespace lattice::kernels
