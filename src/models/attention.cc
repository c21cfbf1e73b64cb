#include "models/attention.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;
using kernels::HeadColumns;

/// Where the heads of a layer lie after its projections.
struct Projected {
  Buffer* q;
  Buffer* kv;
  std::size_t q_col, k_col, v_col;
};

Projected Project(Backend& backend, const AttentionWeights& weights, const HeadShape& heads,
                  const Buffer& inputs, const Buffer& queries, Workspace& workspace) {
  Buffer& kv = workspace[kKeyValues];
  if (weights.qkv != nullptr) {
    LATTICE_DCHECK(&inputs == &queries);
    backend.Linear(inputs, *weights.qkv, {}, kv);
    return {&kv, &kv, 0, heads.q_width(), heads.q_width() + heads.kv_width()};
  }
  Buffer& q = workspace[kQueries];
  backend.Linear(queries, *weights.q, {}, q);
  backend.Linear(inputs, *weights.kv, {}, kv);
  return {&q, &kv, 0, 0, heads.kv_width()};
}

void Rotate(Backend& backend, const Projected& p, const HeadShape& heads, const LayerRows& rows,
            const kernels::Rope& rope) {
  const HeadColumns q{p.q_col, heads.n_heads, heads.head_dim};
  const HeadColumns k{p.k_col, heads.n_kv_heads, heads.head_dim};
  if (p.q == p.kv) {  // Neighbours: one pass computes each row's angles once.
    const HeadColumns both{p.q_col, heads.n_heads + heads.n_kv_heads, heads.head_dim};
    backend.ApplyRope(*p.q, both, rows.all.positions, rope);
    return;
  }
  backend.ApplyRope(*p.q, q, rows.queries.positions, rope);
  backend.ApplyRope(*p.kv, k, rows.all.positions, rope);
}

void NormHeads(Backend& backend, const Projected& p, const AttentionWeights& weights,
               const AttentionKind& kind) {
  if (weights.q_norm == nullptr) return;
  const HeadShape& heads = kind.heads;
  backend.HeadRmsNorm(*p.q, {p.q_col, heads.n_heads, heads.head_dim}, *weights.q_norm,
                      kind.norm_eps);
  backend.HeadRmsNorm(*p.kv, {p.k_col, heads.n_kv_heads, heads.head_dim}, *weights.k_norm,
                      kind.norm_eps);
}

/// Where the rows of n heads lie that a file keeps pair by pair, in the order of halves.
std::vector<std::uint32_t> HalvesOfPairs(const Binder& binder, const HeadShape& heads,
                                         std::size_t n) {
  std::vector<std::uint32_t> order;
  if (!binder.layout().paired_rotary_rows) return order;
  for (std::size_t row = 0; row < n * heads.head_dim; ++row) {
    const std::size_t head = row / heads.head_dim, at = row % heads.head_dim;
    const std::size_t half = at / (heads.head_dim / 2), pair = at % (heads.head_dim / 2);
    order.push_back(static_cast<std::uint32_t>(head * heads.head_dim + 2 * pair + half));
  }
  return order;
}

}  // namespace

Result<AttentionWeights> BindAttention(const Binder& binder, const QkvNames& names,
                                       const HeadShape& heads, std::size_t inputs, Bias bias,
                                       bool last_layer) {
  const auto q_order = HalvesOfPairs(binder, heads, heads.n_heads);
  const auto k_order = HalvesOfPairs(binder, heads, heads.n_kv_heads);
  const LinearPart q{names.q, heads.q_width(), q_order};
  const LinearPart k{names.k, heads.kv_width(), k_order};
  const LinearPart v{names.v, heads.kv_width()};
  AttentionWeights weights;
  if (last_layer) {
    LATTICE_TRY(weights.q, binder.Linear({q}, inputs, bias));
    LATTICE_TRY(weights.kv, binder.Linear({k, v}, inputs, bias));
  } else {
    LATTICE_TRY(weights.qkv, binder.Linear({q, k, v}, inputs, bias));
  }
  return weights;
}

QueryRows SelectQueries(Backend& backend, const RowPlan& plan, bool wanted_only, Buffer& states,
                        const Buffer& normed, Workspace& workspace) {
  if (!wanted_only) return {states, normed, plan.all};
  Buffer& outputs = workspace[kOutputs];
  backend.GatherRows(states, plan.output_rows, outputs);
  if (&normed == &states) return {outputs, outputs, plan.outputs};
  Buffer& normed_outputs = workspace[kNormedOutputs];
  backend.GatherRows(normed, plan.output_rows, normed_outputs);
  return {outputs, normed_outputs, plan.outputs};
}

const Buffer& WantedRows(Backend& backend, const RowPlan& plan, const Buffer& states,
                         Workspace& workspace) {
  if (!plan.subset()) return states;
  Buffer& outputs = workspace[kOutputs];
  backend.GatherRows(states, plan.output_rows, outputs);
  return outputs;
}

WantedStates SelectWanted(Backend& backend, const RowPlan& plan, bool wanted_only, Buffer& states,
                          Buffer& context, Workspace& workspace) {
  if (!wanted_only) return {states, context};
  Buffer& outputs = workspace[kOutputs];
  Buffer& output_context = workspace[kNormedOutputs];
  backend.GatherRows(states, plan.output_rows, outputs);
  backend.GatherRows(context, plan.output_rows, output_context);
  return {outputs, output_context};
}

void SelfAttention(Backend& backend, const AttentionWeights& weights, const AttentionKind& kind,
                   const LayerRows& rows, const Buffer& inputs, const Buffer& queries,
                   Workspace& workspace, Buffer& context) {
  const HeadShape& heads = kind.heads;
  const Projected p = Project(backend, weights, heads, inputs, queries, workspace);
  NormHeads(backend, p, weights, kind);
  if (kind.rope != nullptr) Rotate(backend, p, heads, rows, kind.rope->view());
  backend.Attention({.q = p.q,
                     .kv = p.kv,
                     .q_col = p.q_col,
                     .k_col = p.k_col,
                     .v_col = p.v_col,
                     .n_heads = heads.n_heads,
                     .n_kv_heads = heads.n_kv_heads,
                     .head_dim = heads.head_dim,
                     .scale = kind.scale,
                     .spans = rows.queries.spans,
                     .query_index = rows.queries.query_index,
                     .causal = kind.causal,
                     .window = kind.window,
                     .precision = kind.precision},
                    context);
}

void PagedSelfAttention(Backend& backend, const AttentionWeights& weights,
                        const AttentionKind& kind, const RowPlan& plan, const Buffer& inputs,
                        kernels::KvPages& pages, Workspace& workspace, Buffer& context) {
  LATTICE_DCHECK(weights.qkv != nullptr);
  const Projected p = Project(backend, weights, kind.heads, inputs, inputs, workspace);
  NormHeads(backend, p, weights, kind);
  if (kind.rope != nullptr) {
    Rotate(backend, p, kind.heads, {plan.all, plan.all}, kind.rope->view());
  }
  backend.StoreKv(*p.kv, p.k_col, p.v_col, plan.slots, pages);
  backend.PagedAttention({.q = p.q,
                          .q_col = p.q_col,
                          .n_heads = kind.heads.n_heads,
                          .kv = &pages,
                          .scale = kind.scale,
                          .soft_cap = kind.soft_cap,
                          .window = kind.window,
                          .spans = plan.paged},
                         context);
}

}  // namespace lattice::models
