#include <algorithm>
#include <cmath>
#include <string>

#include "lattice/fann_training.h"

namespace lattice::fann {
namespace {

Status SameSize(std::size_t a, std::size_t b) {
  if (a == b) return Ok();
  return Error{ErrorCode::kInvalidArgument,
               std::to_string(b) + " numbers for " + std::to_string(a) + " parameters"};
}

}  // namespace

Result<DiagonalFisher> DiagonalFisher::Create(std::size_t n_parameters, float decay) {
  if (!(decay > 0.0f && decay < 1.0f)) {
    return Error{ErrorCode::kInvalidArgument, "decay must be above 0 and less than 1"};
  }
  return DiagonalFisher(n_parameters, decay);
}

Status DiagonalFisher::Observe(std::span<const float> gradient) {
  LATTICE_TRY_VOID(SameSize(importance_.size(), gradient.size()));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    importance_[i] = decay_ * importance_[i] + (1.0f - decay_) * gradient[i] * gradient[i];
  }
  return Ok();
}

Status DiagonalFisher::SetAnchor(std::span<const float> parameters) {
  LATTICE_TRY_VOID(SameSize(anchor_.size(), parameters.size()));
  std::ranges::copy(parameters, anchor_.begin());
  return Ok();
}

Status DiagonalFisher::AddPenalty(std::span<const float> parameters, float strength,
                                  std::span<float> gradient) const {
  LATTICE_TRY_VOID(SameSize(importance_.size(), parameters.size()));
  LATTICE_TRY_VOID(SameSize(importance_.size(), gradient.size()));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] += strength * importance_[i] * (parameters[i] - anchor_[i]);
  }
  return Ok();
}

Status DiagonalFisher::Protect(std::span<float> step) const {
  LATTICE_TRY_VOID(SameSize(importance_.size(), step.size()));
  const float most = importance_.empty() ? 0.0f : *std::ranges::max_element(importance_);
  if (!(most >= 1e-8f)) return Ok();
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i] *= std::max(0.0f, 1.0f - importance_[i] / most);
  }
  return Ok();
}

}  // namespace lattice::fann
