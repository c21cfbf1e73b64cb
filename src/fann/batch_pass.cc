#include "fann/batch_pass.h"

#include <algorithm>

#include "fann/layer_forward.h"
#include "lattice/check.h"
#include "numeric/random.h"

namespace lattice::fann {
namespace {

constexpr std::size_t kColumns = 64;  // Of a piece of a forward product.
constexpr std::size_t kInputs = 48;   // Rows of weights in a piece of a backward one.

std::size_t Pieces(std::size_t n, std::size_t piece) { return (n + piece - 1) / piece; }

AlignedBuffer Floats(std::size_t n) {
  AlignedBuffer buffer(n * sizeof(float));
  std::ranges::fill(buffer.As<float>(), 0.0f);
  return buffer;
}

// Elementwise activations are applied to a piece of columns; the others need whole rows.
bool NeedsRows(const LayerInfo& layer) {
  return layer.layer_norm || layer.dropout > 0.0f || layer.activation == Activation::kSoftmax;
}

}  // namespace

BatchPass::BatchPass(const NetworkData& data, const Kernels& kernels, Workers& workers,
                     std::size_t max_rows)
    : data_(data), kernels_(kernels), workers_(workers), rows_stride_(RowStride(max_rows)) {
  layers_.resize(data.layers.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerInfo& info = data.layers[l];
    Layer& layer = layers_[l];
    layer.stride = RowStride(info.n_outputs);
    const std::size_t n = max_rows * layer.stride;
    for (AlignedBuffer* rows : {&layer.sums_, &layer.outputs_, &layer.delta_}) *rows = Floats(n);
    if (info.layer_norm) {
      layer.unit_ = Floats(n);
      layer.factors.resize(max_rows);
    }
    if (info.dropout > 0.0f) {
      layer.mask_ = Floats(n);
      layer.fed_ = Floats(n);
    }
    if (l == 0) continue;  // Nobody asks for the derivative by the network's inputs.
    layer.delta_t_ = Floats(info.n_outputs * rows_stride_);
    layer.back_t_ = Floats(info.n_inputs * rows_stride_);
  }
}

const float* BatchPass::InputOf(std::size_t l, std::size_t& stride) {
  if (l == 0) {
    stride = x_stride_;
    return x_;
  }
  Layer& below = layers_[l - 1];
  stride = below.stride;
  return drops_ && data_.layers[l - 1].dropout > 0.0f ? below.fed() : below.outputs();
}

void BatchPass::FinishRow(std::size_t l, std::size_t row, const DropoutKey* dropout) {
  const LayerInfo& info = data_.layers[l];
  Layer& layer = layers_[l];
  const std::size_t n = info.n_outputs, at = row * layer.stride;
  float* const sums = layer.sums() + at;
  if (info.layer_norm) {
    const float* const parameters = data_.values().data();
    const LayerPlace& place = data_.places[l];
    float* const unit = layer.unit() + at;
    layer.factors[row] = kernels_.units->normalise(sums, n, kNormEpsilon, unit);
    kernels_.units->affine(unit, parameters + place.gains, parameters + place.shifts, n, sums);
  }
  float* const y = layer.outputs() + at;
  if (info.activation == Activation::kSoftmax) {
    float max_and_sum[2];
    kernels_.units->softmax(sums, n, y, max_and_sum);
  } else {
    kernels_.units->activate(KindOf(info), info.slope, sums, n, y);
  }
  if (dropout == nullptr || info.dropout == 0.0f) return;
  Random random(dropout->seed ^ (dropout->step * 0x9E3779B97F4A7C15u), l << 32 | row);
  const auto least = static_cast<std::uint32_t>(static_cast<double>(info.dropout) * 0x1p32);
  const float kept = 1.0f / (1.0f - info.dropout);
  float* const mask = layer.mask() + at;
  for (std::size_t j = 0; j < n; j += 2) {
    const std::uint64_t bits = random.Next();
    mask[j] = static_cast<std::uint32_t>(bits) >= least ? kept : 0.0f;
    if (j + 1 < n) mask[j + 1] = static_cast<std::uint32_t>(bits >> 32) >= least ? kept : 0.0f;
  }
  std::copy(y, y + n, layer.fed() + at);
  kernels_.units->multiply(mask, n, layer.fed() + at);
}

void BatchPass::Forward(const float* x, std::size_t x_stride, std::size_t n,
                        const DropoutKey* dropout) {
  x_ = x;
  x_stride_ = x_stride;
  n_ = n;
  drops_ = dropout != nullptr;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerInfo& info = data_.layers[l];
    Layer& layer = layers_[l];
    std::size_t in_stride = 0;
    const float* const in = InputOf(l, in_stride);
    const bool needs_rows = NeedsRows(info);
    workers_.Each(
        Pieces(info.n_outputs, kColumns), n * info.n_inputs * kColumns, [&](std::size_t piece) {
          const std::size_t begin = piece * kColumns;
          const std::size_t end = std::min(info.n_outputs, begin + kColumns);
          LayerSums(data_, l, kernels_, in, in_stride, n, begin, end, layer.sums(), layer.stride);
          if (needs_rows) return;
          for (std::size_t r = 0; r < n; ++r) {
            const std::size_t at = r * layer.stride + begin;
            kernels_.units->activate(KindOf(info), info.slope, layer.sums() + at, end - begin,
                                     layer.outputs() + at);
          }
        });
    if (!needs_rows) continue;
    workers_.Each(n, info.n_outputs * 8, [&](std::size_t row) { FinishRow(l, row, dropout); });
  }
}

// Through the layer norm of layer l; then delta is the derivative by the products' sums.
void BatchPass::NormBack(std::size_t l, float* gradient) {
  const LayerPlace& place = data_.places[l];
  const std::size_t n_outputs = data_.layers[l].n_outputs;
  Layer& layer = layers_[l];
  kernels_.units->column_dots(layer.delta(), layer.unit(), layer.stride, n_, n_outputs,
                              gradient + place.gains);
  kernels_.units->column_sums(layer.delta(), layer.stride, n_, n_outputs, gradient + place.shifts);
  workers_.Each(n_, n_outputs * 4, [&](std::size_t row) {
    const std::size_t at = row * layer.stride;
    kernels_.units->normalise_back(layer.unit() + at, data_.values().data() + place.gains,
                                   layer.factors[row], n_outputs, layer.delta() + at);
  });
}

void BatchPass::TransposeDelta(std::size_t l, std::size_t begin, std::size_t end) {
  Layer& layer = layers_[l];
  kernels_.units->transpose(layer.delta() + begin, layer.stride, n_, end - begin,
                            layer.delta_t() + begin * rows_stride_, rows_stride_);
}

// The derivative by the sums of units [begin, end) of layer l - 1.
void BatchPass::InputDelta(std::size_t l, std::size_t begin, std::size_t end) {
  Layer& layer = layers_[l];
  Layer& below = layers_[l - 1];
  const LayerInfo& info = data_.layers[l - 1];
  const LayerPlace& place = data_.places[l];
  float* const back = layer.back_t() + begin * rows_stride_;
  kernels_.product({.a = data_.values().data() + place.weights + begin * place.stride,
                    .a_row_stride = place.stride,
                    .a_col_stride = 1,
                    .b = layer.delta_t(),
                    .b_stride = rows_stride_,
                    .c = back,
                    .c_stride = rows_stride_,
                    .m = end - begin,
                    .n = n_,
                    .k = data_.layers[l].n_outputs});
  kernels_.units->transpose(back, rows_stride_, end - begin, n_, below.delta() + begin,
                            below.stride);
  for (std::size_t r = 0; r < n_; ++r) {
    const std::size_t at = r * below.stride + begin;
    float* const d = below.delta() + at;
    if (drops_ && info.dropout > 0.0f) kernels_.units->multiply(below.mask() + at, end - begin, d);
    kernels_.units->activate_back(KindOf(info), info.slope, below.sums() + at, below.outputs() + at,
                                  end - begin, d);
  }
  if (l > 1 && !info.layer_norm) TransposeDelta(l - 1, begin, end);
}

// Of the weights from inputs [begin, end) of layer l.
void BatchPass::WeightGradient(std::size_t l, std::size_t begin, std::size_t end, float* gradient) {
  const LayerPlace& place = data_.places[l];
  std::size_t in_stride = 0;
  const float* const in = InputOf(l, in_stride);
  kernels_.product({.a = in + begin,
                    .a_row_stride = 1,
                    .a_col_stride = in_stride,
                    .b = layers_[l].delta(),
                    .b_stride = layers_[l].stride,
                    .c = gradient + place.weights + begin * place.stride,
                    .c_stride = place.stride,
                    .m = end - begin,
                    .n = data_.layers[l].n_outputs,
                    .k = n_});
}

void BatchPass::Backward(float* gradient) {
  LATTICE_DCHECK(n_ > 0);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const LayerInfo& info = data_.layers[l];
    if (info.layer_norm) NormBack(l, gradient);
    if (l > 0 && (info.layer_norm || l + 1 == layers_.size())) {
      TransposeDelta(l, 0, info.n_outputs);
    }
    const std::size_t pieces = Pieces(info.n_inputs, kInputs);
    const std::size_t n_back = l > 0 ? pieces : 0;
    workers_.Each(n_back + pieces, n_ * info.n_outputs * kInputs, [&](std::size_t i) {
      const std::size_t begin = (i < n_back ? i : i - n_back) * kInputs;
      const std::size_t end = std::min(info.n_inputs, begin + kInputs);
      if (i < n_back) {
        InputDelta(l, begin, end);
      } else {
        WeightGradient(l, begin, end, gradient);
      }
    });
    kernels_.units->column_sums(layers_[l].delta(), layers_[l].stride, n_, info.n_outputs,
                                gradient + data_.places[l].biases);
  }
}

}  // namespace lattice::fann
