#include "models/classification_head.h"

#include "models/attention.h"
#include "models/row_plan.h"

namespace lattice::models {
namespace {

using kernels::Buffer;

/// Sums in row order, in double; each text by itself, so that its mean has the same bits in any
/// batch.
const Buffer& MeanRows(kernels::Backend& backend, const Buffer& states, const Batch& batch,
                       Workspace& workspace) {
  const std::size_t n_texts = batch.sequences.size(), width = states.cols();
  std::vector<float>& host = workspace.plan().host;
  host.resize((states.rows() + n_texts) * width);
  const std::span<float> rows = std::span(host).first(states.rows() * width);
  const std::span<float> means = std::span(host).subspan(rows.size());
  backend.Read(states, rows);
  for (std::size_t t = 0; t < n_texts; ++t) {
    const auto [begin, end] = batch.sequences[t];
    for (std::size_t c = 0; c < width; ++c) {
      double sum = 0;
      for (std::size_t r = begin; r < end; ++r) sum += static_cast<double>(rows[r * width + c]);
      means[t * width + c] = static_cast<float>(sum / (end - begin));
    }
  }
  Buffer& pooled = workspace[kHeadRows];
  backend.Write(means, n_texts, width, pooled);
  return pooled;
}

}  // namespace

const Buffer& ClassificationHead::Score(kernels::Backend& backend, const Buffer& pooled,
                                        Workspace& workspace) const {
  const Buffer* x = &pooled;
  if (dense != nullptr) {
    Buffer& hidden = workspace[kHeadHidden];
    backend.Linear(*x, *dense, {.activation = activation}, hidden);
    if (norm != nullptr) backend.LayerNorm(hidden, nullptr, *norm, nullptr, norm_eps, hidden);
    x = &hidden;
  }
  Buffer& logits = workspace[kLogits];
  backend.Linear(*x, *classifier, {}, logits);
  return logits;
}

const Buffer& PooledRows(const Model& model, kernels::Backend& backend, HeadPooling pooling,
                         const Batch& batch, Workspace& workspace) {
  Batch wanted = batch;
  if (pooling == HeadPooling::kMean) {
    wanted.output_rows = {};
    return MeanRows(backend, model.Forward(wanted, workspace), batch, workspace);
  }
  auto& rows = workspace.plan().head_rows;
  rows.clear();
  for (const SequenceRows& text : batch.sequences) {
    rows.push_back(pooling == HeadPooling::kFirst ? text.begin : text.end - 1);
  }
  wanted.output_rows = rows;
  return model.Forward(wanted, workspace);
}

}  // namespace lattice::models
