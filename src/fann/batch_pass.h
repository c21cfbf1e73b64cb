#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "fann/kernels.h"
#include "fann/network_data.h"
#include "fann/workers.h"

namespace lattice::fann {

/// Which outputs a step drops: a function of these numbers, layer, row and unit.
struct DropoutKey {
  std::uint64_t seed = 0, step = 0;
};

/// One batch through all layers and back, with the memory for it.
///
/// Every element of every result is one sum in one order, computed by one worker: the bits do not
/// depend on their number.
class BatchPass {
 public:
  BatchPass(const NetworkData& data, const Kernels& kernels, Workers& workers,
            std::size_t max_rows);

  /// x [n, n_inputs] with a stride, n <= max_rows; must stay until Backward is done. Without a key
  /// nothing is dropped.
  void Forward(const float* x, std::size_t x_stride, std::size_t n, const DropoutKey* dropout);

  /// Rows of the last layer, [n, n_outputs] with `stride()`.
  std::size_t stride() const { return layers_.back().stride; }
  const float* sums() const { return layers_.back().sums(); }  ///< Before the activation.
  const float* outputs() const { return layers_.back().outputs(); }
  /// To be filled with the derivative by the sums before Backward.
  float* delta() { return layers_.back().delta(); }

  /// gradient  as NetworkData::parameters; padding is not touched.
  void Backward(float* gradient);

 private:
  struct Layer {
    std::size_t stride = 0;  // Of all rows of this layer.
    AlignedBuffer sums_, outputs_, unit_, mask_, fed_, delta_, delta_t_, back_t_;
    std::vector<float> factors;  // Of layer norm, a row each.
    float* sums() { return sums_.As<float>().data(); }
    const float* sums() const { return sums_.As<float>().data(); }
    float* outputs() { return outputs_.As<float>().data(); }
    const float* outputs() const { return outputs_.As<float>().data(); }
    float* unit() { return unit_.As<float>().data(); }
    float* mask() { return mask_.As<float>().data(); }
    float* fed() { return fed_.As<float>().data(); }
    float* delta() { return delta_.As<float>().data(); }
    float* delta_t() { return delta_t_.As<float>().data(); }  // [n_outputs, rows_stride_]
    float* back_t() { return back_t_.As<float>().data(); }    // [n_inputs, rows_stride_]
  };

  void FinishRow(std::size_t l, std::size_t row, const DropoutKey* dropout);
  void NormBack(std::size_t l, float* gradient);
  void TransposeDelta(std::size_t l, std::size_t begin, std::size_t end);
  void InputDelta(std::size_t l, std::size_t begin, std::size_t end);
  void WeightGradient(std::size_t l, std::size_t begin, std::size_t end, float* gradient);
  const float* InputOf(std::size_t l, std::size_t& stride);

  const NetworkData& data_;
  const Kernels& kernels_;
  Workers& workers_;
  std::size_t rows_stride_ = 0;  // Of transposed matrices.
  std::vector<Layer> layers_;
  const float* x_ = nullptr;
  std::size_t x_stride_ = 0, n_ = 0;
  bool drops_ = false;  // In the present pass.
};

}  // namespace lattice::fann
