#pragma once

#include <memory>
#include <string>

#include "kernels/api/backend.h"
#include "models/binder.h"
#include "models/model.h"
#include "models/rope.h"
#include "models/row_plan.h"

namespace lattice::models {

/// Workspace slots that the families share.
enum Slot : std::size_t {
  kStates,   ///< The residual stream.
  kOutputs,  ///< Its wanted rows, in the last layer.
  kNormed,
  kNormedOutputs,
  kQueries,
  kKeyValues,
  kContext,
  kBranch,
  kFfn,
  kGated,
  kHeadRows,
  kHeadHidden,
  kLogits,
  kRouter,
  kSharedGate,
  kSecondBranch,
  kLayerInputs,  ///< Inputs of a token for every layer.
  kLayerGate,
};

struct HeadShape {
  std::size_t n_heads = 0;
  std::size_t n_kv_heads = 0;
  std::size_t head_dim = 0;

  std::size_t q_width() const { return n_heads * head_dim; }
  std::size_t kv_width() const { return n_kv_heads * head_dim; }
};

/// What one layer's attention does besides its weights.
struct AttentionKind {
  HeadShape heads;
  float scale = 1.0f;
  float soft_cap = 0.0f;  ///< 0 = none; only over paged keys.
  bool causal = false;
  std::uint32_t window = 0;         ///< See kernels::AttentionArgs.
  const RopeTable* rope = nullptr;  ///< Null: positions are in the embedding.
  float norm_eps = 0.0f;            ///< Of the head norms.
  kernels::Precision precision = kernels::Precision::kF32;
};

/// Projections of a layer. The last one of an encoder, of which often only a few rows are wanted,
/// keeps queries apart from keys and values; the others make all three in one product.
struct AttentionWeights {
  std::unique_ptr<kernels::LinearWeights> qkv;      ///< Null in such a last layer.
  std::unique_ptr<kernels::LinearWeights> q, kv;    ///< Null in the others.
  std::unique_ptr<kernels::Vector> q_norm, k_norm;  ///< [head_dim]; null: no head norm.
};

/// The rows a layer works on: attention keys come from all rows, the rest is done for `queries`.
struct LayerRows {
  const RowSet& all;
  const RowSet& queries;
};

/// What a layer goes on with after its keys and values are made.
struct QueryRows {
  kernels::Buffer& states;
  const kernels::Buffer& normed;  ///< What the query projection reads.
  const RowSet& rows;
};

/// All rows, or, with `wanted_only`, the planned output rows gathered into kOutputs and
/// kNormedOutputs: a last layer needs no others. `normed` may be `states` itself.
QueryRows SelectQueries(kernels::Backend& backend, const RowPlan& plan, bool wanted_only,
                        kernels::Buffer& states, const kernels::Buffer& normed,
                        Workspace& workspace);

/// The planned output rows of `states`.
const kernels::Buffer& WantedRows(kernels::Backend& backend, const RowPlan& plan,
                                  const kernels::Buffer& states, Workspace& workspace);

/// Binds three matrices with separate names.
struct QkvNames {
  std::string q, k, v;
};
Result<AttentionWeights> BindAttention(const Binder& binder, const QkvNames& names,
                                       const HeadShape& heads, std::size_t inputs, Bias bias,
                                       bool last_layer);

/// context [queries, n_heads * head_dim] = attention of `queries` (rows.queries) over the keys of
/// `inputs` (rows.all). The two are one buffer when every row is wanted. Uses the slots kQueries
/// and kKeyValues.
void SelfAttention(kernels::Backend& backend, const AttentionWeights& weights,
                   const AttentionKind& kind, const LayerRows& rows, const kernels::Buffer& inputs,
                   const kernels::Buffer& queries, Workspace& workspace, kernels::Buffer& context);

/// The same over the keys and values that the texts' states hold, after this layer's rows joined
/// them; `pages` are those of the layer. Positions are absolute. weights.qkv is there.
void PagedSelfAttention(kernels::Backend& backend, const AttentionWeights& weights,
                        const AttentionKind& kind, const RowPlan& plan,
                        const kernels::Buffer& inputs, kernels::KvPages& pages,
                        Workspace& workspace, kernels::Buffer& context);

/// After a layer's attention only the wanted rows go on, if some are not: those of `states` are
/// gathered into kOutputs and returned, those of `context` into kNormedOutputs.
struct WantedStates {
  kernels::Buffer& states;
  kernels::Buffer& context;
};
WantedStates SelectWanted(kernels::Backend& backend, const RowPlan& plan, bool wanted_only,
                          kernels::Buffer& states, kernels::Buffer& context, Workspace& workspace);

}  // namespace lattice::models
