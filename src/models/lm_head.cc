#include "models/lm_head.h"

#include <cstddef>
#include <string>
#include <vector>

#include "lattice/check.h"
#include "models/attention.h"

namespace lattice::models {

using kernels::Buffer;
using kernels::HostTensor;

Result<std::unique_ptr<LmHead>> LmHead::Bind(const ModelSource& source, const Binder& binder,
                                             std::string_view name, const ModelInfo& info,
                                             float soft_cap) {
  LATTICE_TRY(const HostTensor matrix, binder.Matrix(name, info.vocab, info.hidden));
  std::unique_ptr<LmHead> head(new LmHead(source, matrix, soft_cap));
  if (!source.stored) return head;
  LATTICE_TRY(head->whole_, binder.Prepare(name, matrix));
  std::call_once(head->whole_made_, [] {});
  return head;
}

Result<std::unique_ptr<LmHead>> LmHead::Find(const ModelSource& source, const Binder& inner,
                                             bool tied, const ModelInfo& info, float soft_cap) {
  if (tied) return Bind(source, inner, "embed_tokens.weight", info, soft_cap);
  const Binder around = inner.WithPrefix("language_model.");
  return Bind(source, around.Has("lm_head.weight") ? around : inner.WithoutPrefix(),
              "lm_head.weight", info, soft_cap);
}

Result<std::unique_ptr<kernels::Table>> LmHead::Words(const LmHead* head, bool tied,
                                                      const Binder& inner, const ModelInfo& info) {
  if (tied && head != nullptr && head->stored_) {
    if (auto words = head->backend_.MakeTable(head->whole_)) return words;
  }
  return inner.Table("embed_tokens.weight", info.vocab, info.hidden);
}

/// In f32, which takes any weights: this cannot fail. A generator's is made already.
const kernels::LinearWeights& LmHead::Whole() const {
  std::call_once(whole_made_, [this] {
    whole_ = backend_.MakeLinear({&matrix_, 1}, {}, kernels::Precision::kF32).value();
  });
  return *whole_;
}

void LmHead::RowLogits(const Buffer& hidden, std::span<const TokenId> ids, Buffer& logits) const {
  const std::size_t row_bytes = matrix_.bytes.size() / matrix_.rows;
  std::vector<std::byte> bytes;
  bytes.reserve(ids.size() * row_bytes);
  for (const TokenId id : ids) {
    LATTICE_CHECK(id >= 0 && static_cast<std::size_t>(id) < matrix_.rows);
    const auto row = matrix_.bytes.subspan(static_cast<std::size_t>(id) * row_bytes, row_bytes);
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  HostTensor rows{matrix_.dtype, ids.size(), matrix_.cols, bytes};
  rows.store_as = matrix_.store_as;
  kernels::ProcessWeightMemory memory;
  const auto linear = stored_ ? backend_.MakeStoredLinear({&rows, 1}, {}, precision_, memory)
                              : backend_.MakeLinear({&rows, 1}, {}, precision_);
  backend_.Linear(hidden, *linear.value(), {}, logits);
}

const Buffer& LmHead::Logits(const Buffer& hidden, std::span<const TokenId> ids,
                             Workspace& workspace) const {
  Buffer& logits = workspace[kLogits];
  if (ids.empty()) {
    backend_.Linear(hidden, Whole(), {}, logits);
  } else {
    RowLogits(hidden, ids, logits);
  }
  if (soft_cap_ > 0) backend_.SoftCap(soft_cap_, logits);
  return logits;
}

}  // namespace lattice::models
