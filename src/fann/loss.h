#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fann/batch_pass.h"
#include "lattice/fann_training.h"

namespace lattice::fann {

/// What a loss is computed with.
struct LossSetting {
  Loss loss = Loss::kMeanSquared;
  std::span<const float> class_weights;  ///< Empty, or [n_outputs].
  const LayerInfo* last = nullptr;
};

/// Sums over rows; mean = loss / weight.
struct LossSums {
  double loss = 0, weight = 0;
  double right = 0, judged = 0;  ///< Predictions; judged is 0 where there is no right and wrong.
  void Add(const LossSums& other) {
    loss += other.loss;
    weight += other.weight;
    right += other.right;
    judged += other.judged;
  }
};

/// kInvalidArgument when the loss does not fit the last layer, or the weights it.
Status CheckLoss(const LossSetting& setting);
/// kInvalidArgument when sizes, labels or targets are wrong.
Status CheckExamples(const Network& network, const Examples& examples, Loss loss,
                     const char* which);
std::size_t NumberOfRows(const Network& network, const Examples& examples);

/// Of rows `rows` of `examples`, which have been through pass.Forward in that order. With
/// `with_delta` pass.delta() becomes the derivative of the mean.
LossSums ComputeLoss(const LossSetting& setting, const Examples& examples,
                     std::span<const std::uint32_t> rows, const Kernels& kernels, BatchPass& pass,
                     bool with_delta);

}  // namespace lattice::fann
