#pragma once

#include <cstddef>

#include "base/function_ref.h"
#include "kernels/api/backend.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/linear/blocks.h"

namespace lattice::kernels {

/// Outputs that a product kernel fills: x W^T + bias [+ residual].
struct OutputPart {
  std::size_t row = 0, n_rows = 0;
  std::size_t col = 0, n_cols = 0;  ///< col is where a panel starts.
  const float* residual =
      nullptr;  ///< Of the part's first output, rows y.cols() apart; may be null.
  float* y = nullptr;
  std::size_t y_stride = 0;
};

/// Carries out the epilogue of a linear layer around its product kernel.
class LinearOutput {
 public:
  /// y has its shape. `activate` carries out the epilogue's activation; null for none.
  LinearOutput(const Epilogue& epilogue, MapFn activate, CpuBuffer& y);

  /// Lets `multiply` fill the outputs of `block`, whole or in parts, and finishes them while they
  /// are in the caches.
  void Compute(const Block& block, std::size_t panel_outputs,
               FunctionRef<void(const OutputPart& part)> multiply) const;

 private:
  void ComputeInTiles(const Block& block, std::size_t panel_outputs,
                      FunctionRef<void(const OutputPart& part)> multiply) const;

  MapFn activate_;  // may be null
  const CpuBuffer* residual_;
  CpuBuffer& y_;
};

}  // namespace lattice::kernels
