#include "kernels/cpu/linear/linear_bf16.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/gemm_bf16/gemm_bf16.h"
#include "kernels/cpu/linear/blocks.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/linear/pack.h"
#include "kernels/cpu/round_rows/round_rows.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Rows that are rounded at a time and stay in L2 while panels pass by.
constexpr std::size_t kBlockRows = 96;

std::size_t PaddedInputs(std::size_t inputs) {
  return (inputs + kBf16InputGrain - 1) / kBf16InputGrain * kBf16InputGrain;
}

class LinearBf16 : public CpuLinear {
 public:
  LinearBf16(ThreadPool& pool, PanelArena& arena, const StackedRows& weights, CpuFeatures features)
      : outputs_(weights.outputs()),
        inputs_(weights.inputs()),
        padded_(PaddedInputs(inputs_)),
        n_panels_((outputs_ + kBf16PanelOutputs - 1) / kBf16PanelOutputs),
        panels_(arena.Allocate<std::uint16_t>(n_panels_ * padded_ * kBf16PanelOutputs)),
        bias_(weights.Biases(n_panels_ * kBf16PanelOutputs)),
        kernel_(SelectGemmBf16(features)),
        round_(SelectRoundRow(features)),
        activations_(SelectActivation(features)) {
    PackBf16(pool, weights, kernel_.group, padded_, panels_.values);
  }

  std::size_t outputs() const override { return outputs_; }
  std::size_t inputs() const override { return inputs_; }

  void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
           CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    y.Reshape(x.rows(), outputs_);
    const LinearOutput output(epilogue, RoughMapOf(activations_, epilogue.activation), y);
    const std::size_t worker_size = kBlockRows * padded_;
    auto* scratch = reinterpret_cast<std::uint16_t*>(
        y.Scratch(worker_size * sizeof(std::uint16_t) * pool.n_threads()));
    const double row_ns = 0.006 * static_cast<double>(inputs_ * outputs_);
    ForBlocks(pool, {x.rows(), n_panels_, kBlockRows, row_ns},
              [&](const Block& block, std::size_t worker) {
                std::uint16_t* rounded = scratch + worker * worker_size;
                for (std::size_t i = 0; i < block.rows(); ++i) {
                  round_.run(x.row(block.row_begin + i), inputs_, rounded + i * padded_, padded_);
                }
                output.Compute(block, kBf16PanelOutputs, [&](const OutputPart& part) {
                  Multiply(rounded + (part.row - block.row_begin) * padded_, part);
                });
              });
  }

 private:
  void Multiply(const std::uint16_t* x, const OutputPart& part) const {
    kernel_.run({.x = x,
                 .m = part.n_rows,
                 .k = padded_,
                 .w = panels_.values.data() + part.col * padded_,
                 .bias = bias_.data() + part.col,
                 .residual = part.residual,
                 .residual_stride = outputs_,
                 .y = part.y,
                 .y_stride = part.y_stride,
                 .n = part.n_cols});
  }

  std::size_t outputs_, inputs_, padded_, n_panels_;
  PanelMemory<std::uint16_t> panels_;
  std::vector<float> bias_;
  const GemmBf16Variant& kernel_;
  const RoundRowVariant& round_;
  const ActivationKernels& activations_;
};

}  // namespace

std::unique_ptr<CpuLinear> MakeLinearBf16(ThreadPool& pool, PanelArena& arena,
                                          const StackedRows& weights, CpuFeatures features) {
  return std::make_unique<LinearBf16>(pool, arena, weights, features);
}

}  // namespace lattice::kernels
