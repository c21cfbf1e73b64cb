#include "kernels/cpu/linear/epilogue.h"

#include <algorithm>
#include <array>

#include "lattice/check.h"

namespace lattice::kernels {

LinearOutput::LinearOutput(const Epilogue& epilogue, MapFn activate, CpuBuffer& y)
    : activate_(activate),
      residual_(epilogue.residual == nullptr ? nullptr : &AsCpu(*epilogue.residual)),
      y_(y) {
  LATTICE_CHECK(residual_ == nullptr ||
                (residual_->rows() == y.rows() && residual_->cols() == y.cols()));
}

void LinearOutput::Compute(const Block& block, std::size_t panel_outputs,
                           FunctionRef<void(const OutputPart& part)> multiply) const {
  if (activate_ != nullptr && residual_ != nullptr) {
    ComputeInTiles(block, panel_outputs, multiply);
    return;
  }
  OutputPart part;
  part.row = block.row_begin;
  part.n_rows = block.rows();
  part.col = block.panel_begin * panel_outputs;
  part.n_cols = std::min(y_.cols(), block.panel_end * panel_outputs) - part.col;
  if (residual_ != nullptr) part.residual = residual_->row(part.row) + part.col;
  part.y = y_.row(part.row) + part.col;
  part.y_stride = y_.cols();
  multiply(part);
  if (activate_ == nullptr) return;
  for (std::size_t i = 0; i < part.n_rows; ++i) activate_(part.y + i * part.y_stride, part.n_cols);
}

// The residual comes after the activation and may lie where the outputs go, so the products pass
// through a tile. No model of ours asks for it in its large layers.
void LinearOutput::ComputeInTiles(const Block& block, std::size_t panel_outputs,
                                  FunctionRef<void(const OutputPart& part)> multiply) const {
  constexpr std::size_t kTileRows = 16, kTileCols = 64;
  std::array<float, kTileRows * kTileCols> tile;
  LATTICE_CHECK(panel_outputs <= kTileCols);
  for (std::size_t row = block.row_begin; row < block.row_end; row += kTileRows) {
    for (std::size_t panel = block.panel_begin; panel < block.panel_end; ++panel) {
      OutputPart part;
      part.row = row;
      part.n_rows = std::min(kTileRows, block.row_end - row);
      part.col = panel * panel_outputs;
      part.n_cols = std::min(panel_outputs, y_.cols() - part.col);
      part.y = tile.data();
      part.y_stride = kTileCols;
      multiply(part);
      for (std::size_t i = 0; i < part.n_rows; ++i) {
        float* products = tile.data() + i * kTileCols;
        activate_(products, part.n_cols);
        const float* residual = residual_->row(row + i) + part.col;
        float* y = y_.row(row + i) + part.col;
        for (std::size_t j = 0; j < part.n_cols; ++j) y[j] = products[j] + residual[j];
      }
    }
  }
}

}  // namespace lattice::kernels
