#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/api/backend.h"

namespace lattice::kernels {

/// Several weight matrices of equal width seen as one, stacked on their output dimension, with
/// their biases. Borrows the bytes.
class StackedRows {
 public:
  /// kInvalidArgument when shapes, dtypes or byte counts do not fit together (see
  /// Backend::MakeLinear).
  static Result<StackedRows> Make(std::span<const HostTensor> matrices,
                                  std::span<const HostTensor> biases);

  std::size_t outputs() const { return outputs_; }
  std::size_t inputs() const { return inputs_; }

  /// Weights of one output for the inputs [begin, begin + out.size()), as f32.
  void Read(std::size_t output, std::size_t begin, std::span<float> out) const;

  /// All biases in order, zero where a matrix has none; padded with zeros to `padded_size`.
  std::vector<float> Biases(std::size_t padded_size) const;

 private:
  StackedRows() = default;
  std::vector<HostTensor> matrices_;
  std::vector<HostTensor> biases_;         // one for each matrix; cols = 0 where absent
  std::vector<std::size_t> first_output_;  // of each matrix
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
};

}  // namespace lattice::kernels
