#include "kernels/cpu/linear/linear_f32.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"
#include "kernels/cpu/linear/blocks.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/linear/pack.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Rows of x that stay in L2 (1 MiB is common) with their results while panels pass by.
std::size_t BlockRows(std::size_t inputs) {
  constexpr std::size_t kRowsBytes = std::size_t{640} << 10;
  return std::clamp<std::size_t>(kRowsBytes / (inputs * sizeof(float)), 24, 96);
}

class LinearF32 : public CpuLinear {
 public:
  LinearF32(ThreadPool& pool, PanelArena& arena, const StackedRows& weights, CpuFeatures features)
      : outputs_(weights.outputs()),
        inputs_(weights.inputs()),
        n_panels_((outputs_ + kF32PanelOutputs - 1) / kF32PanelOutputs),
        panels_(arena.Allocate<float>(n_panels_ * inputs_ * kF32PanelOutputs)),
        bias_(weights.Biases(n_panels_ * kF32PanelOutputs)),
        kernel_(SelectGemmF32(features)),
        activations_(SelectActivation(features)) {
    PackF32(pool, weights, panels_.values);
  }

  std::size_t outputs() const override { return outputs_; }
  std::size_t inputs() const override { return inputs_; }

  void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
           CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    y.Reshape(x.rows(), outputs_);
    const LinearOutput output(epilogue, MapOf(activations_, epilogue.activation), y);
    const double row_ns = 0.01 * static_cast<double>(inputs_ * outputs_);
    const ProductShape shape = {x.rows(), n_panels_, BlockRows(inputs_), row_ns};
    ForBlocks(pool, shape, [&](const Block& block, std::size_t) {
      output.Compute(block, kF32PanelOutputs, [&](const OutputPart& part) { Multiply(x, part); });
    });
  }

 private:
  void Multiply(const CpuBuffer& x, const OutputPart& part) const {
    const std::size_t panel = part.col / kF32PanelOutputs;
    kernel_.run({.x = x.row(part.row),
                 .x_stride = inputs_,
                 .m = part.n_rows,
                 .k = inputs_,
                 .w = panels_.values.data() + panel * inputs_ * kF32PanelOutputs,
                 .bias = bias_.data() + part.col,
                 .residual = part.residual,
                 .residual_stride = outputs_,
                 .y = part.y,
                 .y_stride = part.y_stride,
                 .n = part.n_cols});
  }

  std::size_t outputs_, inputs_, n_panels_;
  PanelMemory<float> panels_;
  std::vector<float> bias_;
  const GemmF32Variant& kernel_;
  const ActivationKernels& activations_;
};

}  // namespace

std::unique_ptr<CpuLinear> MakeLinearF32(ThreadPool& pool, PanelArena& arena,
                                         const StackedRows& weights, CpuFeatures features) {
  return std::make_unique<LinearF32>(pool, arena, weights, features);
}

}  // namespace lattice::kernels
