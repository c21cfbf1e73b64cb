#include "kernels/cpu/linear/stacked_rows.h"

#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "kernels/cpu/host_tensor.h"
#include "lattice/check.h"

namespace lattice::kernels {
Result<StackedRows> StackedRows::Make(std::span<const HostTensor> matrices,
                                      std::span<const HostTensor> biases) {
  if (matrices.empty() || (!biases.empty() && biases.size() != matrices.size())) {
    return Error{ErrorCode::kInvalidArgument,
                 "a linear layer needs a matrix, and a bias for each or none"};
  }
  StackedRows stacked;
  stacked.inputs_ = matrices[0].cols;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const HostTensor& matrix = matrices[i];
    if (matrix.rows == 0 || matrix.cols == 0) {
      return Error{ErrorCode::kInvalidArgument, "a linear layer without inputs or outputs"};
    }
    LATTICE_TRY_VOID(CheckTensor(matrix, matrix.rows, stacked.inputs_, "weight"));
    const HostTensor bias = biases.empty() ? HostTensor{} : biases[i];
    if (bias.cols != 0) LATTICE_TRY_VOID(CheckTensor(bias, 1, matrix.rows, "bias"));
    stacked.matrices_.push_back(matrix);
    stacked.biases_.push_back(bias);
    stacked.first_output_.push_back(stacked.outputs_);
    const auto outputs = CheckedAdd(stacked.outputs_, matrix.rows);
    if (!outputs) return Error{ErrorCode::kInvalidArgument, "too many outputs in a linear layer"};
    stacked.outputs_ = *outputs;
  }
  return stacked;
}

void StackedRows::Read(std::size_t output, std::size_t begin, std::span<float> out) const {
  LATTICE_DCHECK(output < outputs_ && begin + out.size() <= inputs_);
  const auto next = std::ranges::upper_bound(first_output_, output);
  const auto i = static_cast<std::size_t>(next - first_output_.begin()) - 1;
  const HostTensor& matrix = matrices_[i];
  const std::size_t row_bytes = StorageBytes(matrix.dtype, inputs_);
  const std::size_t row = output - first_output_[i];
  const std::size_t first = (matrix.row_order.empty() ? row : matrix.row_order[row]) * row_bytes;
  WidenPartToF32(matrix.dtype, matrix.bytes.subspan(first, row_bytes), begin, out);
}

std::vector<float> StackedRows::Biases(std::size_t padded_size) const {
  LATTICE_CHECK(padded_size >= outputs_);
  std::vector<float> values(padded_size, 0.0f);
  for (std::size_t i = 0; i < biases_.size(); ++i) {
    if (biases_[i].cols == 0) continue;
    WidenToF32(biases_[i].dtype, biases_[i].bytes,
               std::span(values).subspan(first_output_[i], biases_[i].cols));
  }
  return values;
}

}  // namespace lattice::kernels
