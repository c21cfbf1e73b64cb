#include "models/model.h"

#include "lattice/check.h"
#include "models/row_plan.h"

namespace lattice::models {

Workspace::Workspace(kernels::Backend& backend)
    : backend_(&backend), plan_(std::make_unique<RowPlan>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

kernels::Buffer& Workspace::operator[](std::size_t i) {
  while (buffers_.size() <= i) buffers_.push_back(backend_->MakeBuffer());
  return *buffers_[i];
}

const StateShape& Model::state_shape() const {
  static const StateShape kNone;
  return kNone;
}

const kernels::Buffer& Model::Classify(const Batch&, Workspace&) const {
  internal::CheckFailed("info().n_labels > 0", __FILE__, __LINE__);
}

const kernels::Buffer& Model::Logits(const kernels::Buffer&, std::span<const TokenId>,
                                     Workspace&) const {
  internal::CheckFailed("info().has_lm_head", __FILE__, __LINE__);
}

}  // namespace lattice::models
