#include "models/model_plan.h"

#include "models/model_files.h"
#include "models/packed_weights.h"

namespace lattice::models {
namespace {

/// "1.53 GB"
std::string Gigabytes(std::size_t bytes) {
  const std::size_t hundredths = (bytes + 5'000'000) / 10'000'000;
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (fraction.size() == 1 ? ".0" : ".") + fraction + " GB";
}

}  // namespace

std::size_t ModelPlan::KvBytes(const ModelUse& use) const {
  // Each sequence may leave most of its last page empty.
  const std::size_t n_pages = use.n_tokens / kernels::kPageTokens + use.n_sequences;
  return n_pages * kernels::kPageTokens * state.BytesPerToken(use.kv_type);
}

std::size_t ModelPlan::StateBytes(const ModelUse& use) const {
  return use.n_sequences * state.BytesPerSequence();
}

std::size_t ModelPlan::ScratchBytes(const ModelUse& use) const {
  return (use.n_rows * row_floats + use.n_logit_rows * info.vocab) * sizeof(float);
}

std::size_t ModelPlan::TotalBytes(const ModelUse& use) const {
  return weights_bytes + KvBytes(use) + StateBytes(use) + ScratchBytes(use);
}

Status ModelPlan::CheckFits(const ModelUse& use, std::size_t available_bytes) const {
  if (use.n_tokens / use.n_sequences > info.max_tokens) {
    return Error{ErrorCode::kInvalidArgument,
                 "a context of " + std::to_string(use.n_tokens / use.n_sequences) +
                     " tokens, and the model reads at most " + std::to_string(info.max_tokens)};
  }
  if (TotalBytes(use) <= available_bytes) return Ok();
  return Error{ErrorCode::kResourceExhausted,
               Gigabytes(TotalBytes(use)) + " are needed and " + Gigabytes(available_bytes) +
                   " are free: weights " + Gigabytes(weights_bytes) + ", keys and values of " +
                   std::to_string(use.n_tokens) + " tokens " + Gigabytes(KvBytes(use)) +
                   ", states of " + std::to_string(use.n_sequences) + " sequences " +
                   Gigabytes(StateBytes(use)) + ", one pass " + Gigabytes(ScratchBytes(use))};
}

ModelPlan PlanOf(ModelDescription description, std::size_t weights_bytes) {
  return {.info = std::move(description.info),
          .state = std::move(description.state),
          .weights_bytes = weights_bytes,
          .row_floats = description.row_floats};
}

ModelPlan PlanOf(const ModelFiles& files, std::optional<Dtype> weights) {
  if (!weights) return PlanOf(files.description(), files.weights_bytes());
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : files.checkpoint()->tensors()) {
    bytes += KeptBytes(tensor, weights);
  }
  return PlanOf(files.description(), bytes);
}

}  // namespace lattice::models
