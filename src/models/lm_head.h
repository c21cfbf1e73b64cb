#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "base/token_id.h"
#include "kernels/api/backend.h"
#include "lattice/result.h"
#include "models/binder.h"
#include "models/model.h"

namespace lattice::models {

/// Logits [rows, vocab] = cap(hidden W^T), W the embedding table or a matrix of its own;
/// cap(y) = c tanh(y / c).
class LmHead {
 public:
  /// W is the tensor `name` of `binder`; soft_cap 0: none. A generator's W is made at once, of
  /// weights as they are stored. Elsewhere W is as large as the embedding and most callers want
  /// none or two of its rows, so it is packed, in f32, when the whole of it is asked for.
  static Result<std::unique_ptr<LmHead>> Bind(const ModelSource& source, const Binder& binder,
                                              std::string_view name, const ModelInfo& info,
                                              float soft_cap);

  /// The matrix of a generator whose tensors `inner` names: the embedding table, or lm_head.weight
  /// beside or around them.
  static Result<std::unique_ptr<LmHead>> Find(const ModelSource& source, const Binder& inner,
                                              bool tied, const ModelInfo& info, float soft_cap);

  /// The rows of W as the table of embeddings that a tied head shares them with; `binder` as for
  /// Find. A packed W is looked up where it is packed, so that the weights are in memory once.
  static Result<std::unique_ptr<kernels::Table>> Words(const LmHead* head, bool tied,
                                                       const Binder& inner, const ModelInfo& info);

  /// See Model::Logits.
  const kernels::Buffer& Logits(const kernels::Buffer& hidden, std::span<const TokenId> ids,
                                Workspace& workspace) const;

 private:
  LmHead(const ModelSource& source, const kernels::HostTensor& matrix, float soft_cap)
      : checkpoint_(source.checkpoint),
        backend_(*source.backend),
        matrix_(matrix),
        soft_cap_(soft_cap),
        stored_(source.stored),
        precision_(source.stored ? source.precision : kernels::Precision::kF32) {}
  const kernels::LinearWeights& Whole() const;
  void RowLogits(const kernels::Buffer& hidden, std::span<const TokenId> ids,
                 kernels::Buffer& logits) const;

  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // the matrix views it
  kernels::Backend& backend_;
  kernels::HostTensor matrix_;
  float soft_cap_;
  bool stored_;
  kernels::Precision precision_;
  mutable std::once_flag whole_made_;
  mutable std::shared_ptr<const kernels::LinearWeights> whole_;
};

}  // namespace lattice::models
