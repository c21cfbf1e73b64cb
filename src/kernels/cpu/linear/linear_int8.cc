#include "kernels/cpu/linear/linear_int8.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/gemm_int8/gemm_int8.h"
#include "kernels/cpu/linear/blocks.h"
#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/linear/pack.h"
#include "kernels/cpu/quantise_rows/quantise_rows.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// Rows that are quantised at a time: those of 384 inputs stay in the first cache while panels pass
// by, and the results of 1,536 outputs in L2.
constexpr std::size_t kBlockRows = 64;

std::size_t PaddedInputs(std::size_t inputs) {
  return (inputs + kInt8InputGrain - 1) / kInt8InputGrain * kInt8InputGrain;
}

// The quantised rows of one worker's block, in memory that it is given and the kernel's form.
class QuantisedRows {
 public:
  static std::size_t SizeBytes(std::size_t padded, const Int8InputForm& form) {
    return kBlockRows * (padded * form.bytes + sizeof(Int8Row));
  }
  QuantisedRows(std::byte* memory, std::size_t padded, const Int8InputForm& form)
      : padded_(padded),
        form_(form),
        q_(reinterpret_cast<std::uint8_t*>(memory)),
        rows_(reinterpret_cast<Int8Row*>(memory + kBlockRows * padded * form.bytes)) {}

  void Set(std::size_t i, QuantiseRowFn quantise, const float* x, std::span<const float> factor) {
    std::uint8_t* q = q_ + i * padded_ * form_.bytes;
    quantise(x, factor.data(), factor.size(), q, padded_, rows_ + i);
    if (form_.prepare != nullptr) form_.prepare(q, padded_);
  }
  const std::uint8_t* bytes(std::size_t i) const { return q_ + i * padded_ * form_.bytes; }
  const Int8Row* row(std::size_t i) const { return rows_ + i; }

 private:
  std::size_t padded_;
  const Int8InputForm& form_;
  std::uint8_t* q_;
  Int8Row* rows_;
};

class LinearInt8 : public CpuLinear {
 public:
  LinearInt8(PanelArena& arena, const StackedRows& weights, CpuFeatures features)
      : outputs_(weights.outputs()),
        inputs_(weights.inputs()),
        padded_(PaddedInputs(inputs_)),
        n_panels_((outputs_ + kInt8PanelOutputs - 1) / kInt8PanelOutputs),
        panels_(arena.Allocate<std::int8_t>(n_panels_ * padded_ * kInt8PanelOutputs)),
        w_scale_(n_panels_ * kInt8PanelOutputs),
        w_sum_(n_panels_ * kInt8PanelOutputs),
        factor_(inputs_),
        bias_(weights.Biases(n_panels_ * kInt8PanelOutputs)),
        kernel_(SelectGemmInt8(features)),
        quantise_(SelectQuantiseRow(features)),
        activations_(SelectActivation(features)) {}

  Status Pack(ThreadPool& pool, const StackedRows& weights) {
    return PackInt8(pool, weights, kernel_.group, padded_,
                    {panels_.values, w_scale_, w_sum_, factor_});
  }

  std::size_t outputs() const override { return outputs_; }
  std::size_t inputs() const override { return inputs_; }

  void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
           CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    y.Reshape(x.rows(), outputs_);
    const LinearOutput output(epilogue, RoughMapOf(activations_, epilogue.activation), y);
    const std::size_t worker_bytes =
        (QuantisedRows::SizeBytes(padded_, kernel_.input) + 63) / 64 * 64;
    std::byte* scratch = y.Scratch(worker_bytes * pool.n_threads());
    const double row_ns = 0.003 * static_cast<double>(inputs_ * outputs_);
    ForBlocks(pool, {x.rows(), n_panels_, kBlockRows, row_ns},
              [&](const Block& block, std::size_t worker) {
                QuantisedRows q(scratch + worker * worker_bytes, padded_, kernel_.input);
                for (std::size_t i = 0; i < block.rows(); ++i) {
                  q.Set(i, quantise_.run, x.row(block.row_begin + i), factor_);
                }
                output.Compute(block, kInt8PanelOutputs, [&](const OutputPart& part) {
                  Multiply(q, part.row - block.row_begin, part);
                });
              });
  }

 private:
  void Multiply(const QuantisedRows& q, std::size_t row, const OutputPart& part) const {
    kernel_.run({.x = q.bytes(row),
                 .x_row = q.row(row),
                 .m = part.n_rows,
                 .k = padded_,
                 .w = panels_.values.data() + part.col * padded_,
                 .w_sum = w_sum_.data() + part.col,
                 .w_scale = w_scale_.data() + part.col,
                 .bias = bias_.data() + part.col,
                 .residual = part.residual,
                 .residual_stride = outputs_,
                 .y = part.y,
                 .y_stride = part.y_stride,
                 .n = part.n_cols});
  }

  std::size_t outputs_, inputs_, padded_, n_panels_;
  PanelMemory<std::int8_t> panels_;
  std::vector<float> w_scale_;
  std::vector<std::int32_t> w_sum_;
  std::vector<float> factor_;
  std::vector<float> bias_;
  const GemmInt8Variant& kernel_;
  const QuantiseRowVariant& quantise_;
  const ActivationKernels& activations_;
};

}  // namespace

Result<std::unique_ptr<CpuLinear>> MakeLinearInt8(ThreadPool& pool, PanelArena& arena,
                                                  const StackedRows& weights,
                                                  CpuFeatures features) {
  if (weights.inputs() > kInt8MaxInputs) {
    return Error{ErrorCode::kUnsupported, "int8 layers take at most " +
                                              std::to_string(kInt8MaxInputs) + " inputs, not " +
                                              std::to_string(weights.inputs())};
  }
  auto layer = std::make_unique<LinearInt8>(arena, weights, features);
  LATTICE_TRY_VOID(layer->Pack(pool, weights));
  return std::unique_ptr<CpuLinear>(std::move(layer));
}

}  // namespace lattice::kernels
