#pragma once

#include <memory>

#include "kernels/api/backend.h"
#include "models/model.h"

namespace lattice::models {

/// classifier(norm(activation(dense x))), each of the first three optional.
struct ClassificationHead {
  std::unique_ptr<kernels::LinearWeights> dense;  ///< Null: none.
  kernels::Activation activation = kernels::Activation::kNone;
  std::unique_ptr<kernels::Vector> norm;  ///< Gain of a LayerNorm without bias; null: none.
  float norm_eps = 0.0f;
  std::unique_ptr<kernels::LinearWeights> classifier;

  bool empty() const { return classifier == nullptr; }

  /// pooled [n_texts, hidden] -> [n_texts, n_labels], in the workspace's kLogits.
  const kernels::Buffer& Score(kernels::Backend& backend, const kernels::Buffer& pooled,
                               Workspace& workspace) const;
};

enum class HeadPooling : std::uint8_t { kFirst, kMean, kLast };

/// One row for each text, [n_sequences, hidden]: runs model.Forward for what the pooling needs.
const kernels::Buffer& PooledRows(const Model& model, kernels::Backend& backend,
                                  HeadPooling pooling, const Batch& batch, Workspace& workspace);

}  // namespace lattice::models
