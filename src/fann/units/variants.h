#pragma once

#include <cstddef>
#include <cstdint>

namespace lattice::fann {

/// What a unit makes of its sum z. The numbers are those of the files.
enum class UnitKind : std::uint8_t {
  kLinear = 0,
  kSigmoid = 1,
  kTanh = 2,
  kRelu = 3,
  kLeakyRelu = 4,
  kSoftmax = 5,  // Of a whole row: not by `activate`.
  kGelu = 6,
  kSilu = 7,
};

/// One step of an optimiser over some parameters.
struct UpdateArgs {
  float* p;        ///< [n] parameters.
  const float* g;  ///< [n] their gradient.
  float* first;    ///< [n] velocity or mean of gradients; SGD without momentum: unused.
  float* second;   ///< [n] mean of squared gradients; SGD: unused.
  std::size_t n;
  float scale;         ///< Of the gradient, from clipping.
  float l2;            ///< Weight decay that is part of the gradient.
  float keep;          ///< 1 - rate * decoupled weight decay.
  float rate;          ///< Adam: with the correction of the first mean.
  float beta1, beta2;  ///< SGD: beta1 is the momentum; RMSprop: beta2 only.
  float inverse_root;  ///< Adam: 1 / sqrt(correction of the second mean).
  float epsilon;
};

/// The functions of one instruction set; units.h has their contract.
struct UnitFns {
  void (*activate)(UnitKind kind, float slope, const float* z, std::size_t n, float* y);
  void (*activate_back)(UnitKind kind, float slope, const float* z, const float* y, std::size_t n,
                        float* d);
  void (*softmax)(const float* z, std::size_t n, float* y, float* max_and_sum);
  void (*softmax_back)(const float* y, std::size_t n, float* d);
  float (*normalise)(const float* z, std::size_t n, float epsilon, float* unit);
  void (*affine)(const float* x, const float* gain, const float* shift, std::size_t n, float* y);
  void (*normalise_back)(const float* unit, const float* gain, float inverse_deviation,
                         std::size_t n, float* d);
  void (*multiply)(const float* x, std::size_t n, float* y);
  void (*column_sums)(const float* x, std::size_t stride, std::size_t n_rows, std::size_t n,
                      float* out);
  void (*column_dots)(const float* x, const float* y, std::size_t stride, std::size_t n_rows,
                      std::size_t n, float* out);
  void (*transpose)(const float* x, std::size_t stride, std::size_t n_rows, std::size_t n_columns,
                    float* out, std::size_t out_stride);
  float (*poison)(const float* x, std::size_t n);
  float (*sum_squares)(const float* x, std::size_t n);
  void (*sgd)(const UpdateArgs& args);
  void (*momentum)(const UpdateArgs& args);
  void (*adam)(const UpdateArgs& args);
  void (*rmsprop)(const UpdateArgs& args);
};

extern const UnitFns kUnitsScalar;
extern const UnitFns kUnitsAvx2;
extern const UnitFns kUnitsAvx512;
extern const UnitFns kUnitsNeon;

}  // namespace lattice::fann
