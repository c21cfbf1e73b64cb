#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kernels/api/state.h"
#include "lattice/result.h"
#include "models/families.h"
#include "models/model.h"

namespace lattice::models {

/// What somebody wants to do with a model.
struct ModelUse {
  std::size_t n_tokens = 0;  ///< Of all sequences together, kept as `kv_type`.
  kernels::KvType kv_type = kernels::KvType::kF16;
  std::size_t n_sequences = 1;
  std::size_t n_rows = 256;      ///< Of the largest batch.
  std::size_t n_logit_rows = 1;  ///< Of those, how many ask for logits.
};

/// The memory that a generator takes, known before a weight is read.
struct ModelPlan {
  ModelInfo info;
  StateShape state;
  std::size_t weights_bytes = 0;  ///< In the size of their format, packed or where they lie.
  std::size_t row_floats = 0;     ///< f32 values a pass keeps for each row of a batch.

  std::size_t KvBytes(const ModelUse& use) const;     ///< Keys and values, in whole pages.
  std::size_t StateBytes(const ModelUse& use) const;  ///< What each sequence takes once.
  std::size_t ScratchBytes(const ModelUse& use) const;
  std::size_t TotalBytes(const ModelUse& use) const;
  /// kResourceExhausted, with all the numbers, when that is more than `available_bytes`;
  /// kInvalidArgument for more tokens in one sequence than the model reads.
  Status CheckFits(const ModelUse& use, std::size_t available_bytes) const;
};

ModelPlan PlanOf(ModelDescription description, std::size_t weights_bytes);

/// From a model's config and the headers of its weights; `weights` as LoadOptions has it.
ModelPlan PlanOf(const ModelFiles& files, std::optional<Dtype> weights = std::nullopt);

}  // namespace lattice::models
