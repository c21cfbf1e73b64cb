#include "kernels/cpu/linear/linear.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/row_split.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

// One dot product at a time, in the order of the inputs.
class PlainLinear : public CpuLinear {
 public:
  PlainLinear(std::vector<float> weights, std::vector<float> bias, std::size_t inputs,
              CpuFeatures features)
      : weights_(std::move(weights)),
        bias_(std::move(bias)),
        inputs_(inputs),
        activations_(SelectActivation(features)) {}
  std::size_t outputs() const override { return bias_.size(); }
  std::size_t inputs() const override { return inputs_; }

  void Run(ThreadPool& pool, const CpuBuffer& x, const Epilogue& epilogue,
           CpuBuffer& y) const override {
    LATTICE_CHECK(x.cols() == inputs_ && &x != &y);
    y.Reshape(x.rows(), outputs());
    const auto activate = MapOf(activations_, epilogue.activation);
    const double row_ns = static_cast<double>(weights_.size());
    ForRows(pool, x.rows(), row_ns, [&](std::size_t begin, std::size_t end) {
      std::vector<float> products(outputs());
      for (std::size_t r = begin; r < end; ++r) {
        for (std::size_t o = 0; o < outputs(); ++o) {
          float sum = 0;
          const float* w = weights_.data() + o * inputs_;
          for (std::size_t i = 0; i < inputs_; ++i) sum += x.row(r)[i] * w[i];
          products[o] = sum + bias_[o];
        }
        if (activate != nullptr) activate(products.data(), outputs());
        for (std::size_t o = 0; o < outputs(); ++o) {
          y.row(r)[o] = products[o] +
                        (epilogue.residual != nullptr ? AsCpu(*epilogue.residual).row(r)[o] : 0.0f);
        }
      }
    });
  }

 private:
  std::vector<float> weights_;
  std::vector<float> bias_;
  std::size_t inputs_;
  const ActivationKernels& activations_;
};

}  // namespace

Result<std::unique_ptr<LinearWeights>> MakeCpuLinear(std::span<const HostTensor> matrices,
                                                     std::span<const HostTensor> biases,
                                                     Precision precision, CpuFeatures features) {
  if (precision != Precision::kF32) {
    return Error{ErrorCode::kUnsupported, "linear layers are computed in f32 only"};
  }
  LATTICE_CHECK(!matrices.empty() && (biases.empty() || biases.size() == matrices.size()));
  const std::size_t inputs = matrices[0].cols;
  std::vector<float> weights, bias;
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    const HostTensor& matrix = matrices[m];
    LATTICE_CHECK(matrix.cols == inputs);
    const std::size_t weights_begin = weights.size(), bias_begin = bias.size();
    weights.resize(weights_begin + matrix.rows * inputs);
    WidenToF32(matrix.dtype, matrix.bytes, std::span(weights).subspan(weights_begin));
    bias.resize(bias_begin + matrix.rows, 0.0f);
    if (!biases.empty() && biases[m].cols != 0) {
      LATTICE_CHECK(biases[m].cols == matrix.rows);
      WidenToF32(biases[m].dtype, biases[m].bytes, std::span(bias).subspan(bias_begin));
    }
  }
  return std::unique_ptr<LinearWeights>(
      std::make_unique<PlainLinear>(std::move(weights), std::move(bias), inputs, features));
}

}  // namespace lattice::kernels
