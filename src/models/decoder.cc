// The decoder graph: Qwen3 (generator, embedder, reranker) and Gemma 3 text (generator, and, seeing
// both ways, embedder). RMS norms, norms of query and key heads, rotary positions, gated
// feed-forward. Source: Qwen3 technical report 2025; Gemma 3 technical report 2025.
#include <array>
#include <mutex>
#include <vector>

#include "models/attention.h"
#include "models/classification_head.h"
#include "models/decoder_config.h"
#include "models/families.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;
using kernels::HostTensor;

constexpr std::string_view kPrefixes[] = {"model.", "", "language_model.model.",
                                          "model.language_model."};

struct DecoderLayer {
  std::unique_ptr<kernels::Vector> input_norm, ffn_norm;
  std::unique_ptr<kernels::Vector> post_attention_norm, post_ffn_norm;  ///< Null: not a sandwich.
  AttentionWeights attention;
  std::unique_ptr<kernels::LinearWeights> attention_out, gate_up, down;
  AttentionKind kind;
};

class Decoder final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source, DecoderConfig config);

  const ModelInfo& info() const override { return config_.info; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Classify(const Batch& batch, Workspace& workspace) const override;
  const Buffer& Logits(const Buffer& hidden, std::span<const TokenId> ids,
                       Workspace& workspace) const override;

 private:
  Decoder(const ModelSource& source, DecoderConfig config)
      : config_(std::move(config)), checkpoint_(source.checkpoint), backend_(*source.backend) {}
  AttentionKind Kind(std::size_t layer, kernels::Precision precision) const;
  Result<DecoderLayer> BindLayer(const Binder& binder, std::size_t i) const;
  Status BindNorms(const Binder& binder, const std::string& at, DecoderLayer& layer) const;
  Status BindHeads(const Binder& binder);

  Buffer& RunLayer(const DecoderLayer& layer, const RowPlan& plan, bool wanted_only, Buffer& x,
                   Workspace& workspace) const;
  void AddBranch(const Buffer& branch, const kernels::LinearWeights& out,
                 const kernels::Vector* post_norm, Buffer& x, Workspace& workspace) const;
  void Norm(const Buffer& x, const kernels::Vector& gain, Buffer& out) const {
    backend_.RmsNorm(x, gain, config_.norm_eps, out);
  }
  const kernels::LinearWeights& WholeHead() const;
  std::unique_ptr<kernels::LinearWeights> HeadRows(std::span<const TokenId> ids) const;

  DecoderConfig config_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // the tables view it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_;
  std::vector<DecoderLayer> layers_;
  std::unique_ptr<kernels::Vector> final_norm_;
  ClassificationHead classifier_;
  HostTensor head_;  // [vocab, hidden] in the file; no rows when there is none
  mutable std::once_flag whole_head_made_;
  mutable std::unique_ptr<kernels::LinearWeights> whole_head_;
};

AttentionKind Decoder::Kind(std::size_t layer, kernels::Precision precision) const {
  const bool sliding = config_.sliding[layer];
  return {.heads = config_.heads,
          .scale = config_.attention_scale,
          .causal = config_.info.causal,
          .window = sliding ? config_.window : 0,
          .rope = sliding ? &config_.sliding_rope : &config_.rope,
          .norm_eps = config_.norm_eps,
          .precision = precision};
}

/// In a sandwich, post_attention_layernorm stands after attention; elsewhere it is what the
/// feed-forward layer reads through.
Status Decoder::BindNorms(const Binder& binder, const std::string& at, DecoderLayer& layer) const {
  const std::size_t hidden = config_.info.hidden;
  const auto bind = [&](const char* name, std::size_t n) {
    return binder.Vector(at + name + ".weight", n, config_.norm_offset);
  };
  LATTICE_TRY(layer.input_norm, bind("input_layernorm", hidden));
  LATTICE_TRY(layer.attention.q_norm, bind("self_attn.q_norm", config_.heads.head_dim));
  LATTICE_TRY(layer.attention.k_norm, bind("self_attn.k_norm", config_.heads.head_dim));
  if (!config_.sandwich) {
    LATTICE_TRY(layer.ffn_norm, bind("post_attention_layernorm", hidden));
    return Ok();
  }
  LATTICE_TRY(layer.post_attention_norm, bind("post_attention_layernorm", hidden));
  LATTICE_TRY(layer.ffn_norm, bind("pre_feedforward_layernorm", hidden));
  LATTICE_TRY(layer.post_ffn_norm, bind("post_feedforward_layernorm", hidden));
  return Ok();
}

Result<DecoderLayer> Decoder::BindLayer(const Binder& binder, std::size_t i) const {
  const std::size_t hidden = config_.info.hidden, ffn = config_.ffn_hidden;
  const HeadShape& heads = config_.heads;
  const std::string at = "layers." + std::to_string(i) + ".";
  const QkvNames names{at + "self_attn.q_proj", at + "self_attn.k_proj", at + "self_attn.v_proj"};
  DecoderLayer layer;
  LATTICE_TRY(layer.attention, BindAttention(binder, names, heads, hidden, Bias::kNone,
                                             i + 1 == config_.info.n_layers));
  LATTICE_TRY_VOID(BindNorms(binder, at, layer));
  LATTICE_TRY(layer.attention_out,
              binder.Linear({{at + "self_attn.o_proj", hidden}}, heads.q_width(), Bias::kNone));
  LATTICE_TRY(layer.gate_up, binder.Linear({{at + "mlp.gate_proj", ffn}, {at + "mlp.up_proj", ffn}},
                                           hidden, Bias::kNone));
  LATTICE_TRY(layer.down, binder.Linear({{at + "mlp.down_proj", hidden}}, ffn, Bias::kNone));
  return layer;
}

/// A generator saved as an embedder has lost its own head: then there are no logits.
Status Decoder::BindHeads(const Binder& binder) {
  ModelInfo& info = config_.info;
  const Binder top = binder.WithoutPrefix().InFullPrecision();
  if (info.n_labels > 0) {
    LATTICE_TRY(classifier_.classifier,
                top.Linear({{"score", info.n_labels}}, info.hidden, Bias::kNone));
  }
  info.has_lm_head = info.has_lm_head && (config_.tied_head || top.Has("lm_head.weight"));
  if (!info.has_lm_head) return Ok();
  LATTICE_TRY(head_, config_.tied_head
                         ? binder.Matrix("embed_tokens.weight", info.vocab, info.hidden)
                         : top.Matrix("lm_head.weight", info.vocab, info.hidden));
  return Ok();
}

Result<std::shared_ptr<const Model>> Decoder::Bind(const ModelSource& source,
                                                   DecoderConfig config) {
  std::shared_ptr<Decoder> model(new Decoder(source, std::move(config)));
  const ModelInfo& info = model->config_.info;
  LATTICE_TRY(const Binder binder, Binder::Make(source, kPrefixes, "embed_tokens.weight"));
  LATTICE_TRY(model->words_, binder.Table("embed_tokens.weight", info.vocab, info.hidden));
  for (std::size_t i = 0; i < info.n_layers; ++i) {
    LATTICE_TRY(DecoderLayer layer, model->BindLayer(binder, i));
    layer.kind = model->Kind(i, source.precision);
    model->layers_.push_back(std::move(layer));
  }
  LATTICE_TRY(model->final_norm_,
              binder.Vector("norm.weight", info.hidden, model->config_.norm_offset));
  LATTICE_TRY_VOID(model->BindHeads(binder));
  return std::shared_ptr<const Model>(std::move(model));
}

/// x += [post_norm of] out * branch.
void Decoder::AddBranch(const Buffer& branch, const kernels::LinearWeights& out,
                        const kernels::Vector* post_norm, Buffer& x, Workspace& workspace) const {
  if (post_norm == nullptr) {
    backend_.Linear(branch, out, {.residual = &x}, x);
    return;
  }
  Buffer& y = workspace[kBranch];
  backend_.Linear(branch, out, {}, y);
  backend_.RmsNormAdd(x, y, *post_norm, config_.norm_eps, x);
}

Buffer& Decoder::RunLayer(const DecoderLayer& layer, const RowPlan& plan, bool wanted_only,
                          Buffer& x, Workspace& workspace) const {
  Buffer& normed = workspace[kNormed];
  Buffer& context = workspace[kContext];
  Buffer& ffn = workspace[kFfn];
  Buffer& gated = workspace[kGated];
  Norm(x, *layer.input_norm, normed);
  const QueryRows query = SelectQueries(backend_, plan, wanted_only, x, normed, workspace);
  Buffer& states = query.states;
  SelfAttention(backend_, layer.attention, layer.kind, {plan.all, query.rows}, normed, query.normed,
                workspace, context);
  AddBranch(context, *layer.attention_out, layer.post_attention_norm.get(), states, workspace);
  Norm(states, *layer.ffn_norm, normed);
  backend_.Linear(normed, *layer.gate_up, {}, ffn);
  backend_.Gate(ffn, config_.activation, kernels::GateHalf::kFirst, gated);
  AddBranch(gated, *layer.down, layer.post_ffn_norm.get(), states, workspace);
  return states;
}

const Buffer& Decoder::Forward(const Batch& batch, Workspace& workspace,
                               const HiddenTap* tap) const {
  RowPlan& plan = workspace.plan();
  PlanRows(batch, config_.info, plan);
  Buffer* x = &workspace[kStates];
  const std::array<kernels::Lookup, 1> words = {{{words_.get(), batch.ids}}};
  backend_.Embed(words, config_.embed_scale, *x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (tap != nullptr) (*tap)(i, *x);
    const bool wanted_only = tap == nullptr && plan.subset() && i + 1 == layers_.size();
    x = &RunLayer(layers_[i], plan, wanted_only, *x, workspace);
  }
  Norm(*x, *final_norm_, *x);
  if (tap == nullptr) return *x;
  (*tap)(layers_.size(), *x);
  return WantedRows(backend_, plan, *x, workspace);
}

const Buffer& Decoder::Classify(const Batch& batch, Workspace& workspace) const {
  LATTICE_CHECK(!classifier_.empty());
  const Buffer& last = PooledRows(*this, backend_, HeadPooling::kLast, batch, workspace);
  return classifier_.Score(backend_, last, workspace);
}

/// The head is as large as the embedding and most callers want embeddings or two of its rows, so it
/// is packed when the whole of it is asked for. In f32, which takes any weights: this cannot fail.
const kernels::LinearWeights& Decoder::WholeHead() const {
  std::call_once(whole_head_made_, [this] {
    whole_head_ = backend_.MakeLinear({&head_, 1}, {}, kernels::Precision::kF32).value();
  });
  return *whole_head_;
}

std::unique_ptr<kernels::LinearWeights> Decoder::HeadRows(std::span<const TokenId> ids) const {
  const std::size_t row_bytes = head_.bytes.size() / head_.rows;
  std::vector<std::byte> bytes;
  bytes.reserve(ids.size() * row_bytes);
  for (const TokenId id : ids) {
    LATTICE_CHECK(id >= 0 && static_cast<std::size_t>(id) < head_.rows);
    const auto row = head_.bytes.subspan(static_cast<std::size_t>(id) * row_bytes, row_bytes);
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  const HostTensor rows{head_.dtype, ids.size(), head_.cols, bytes};
  return backend_.MakeLinear({&rows, 1}, {}, kernels::Precision::kF32).value();
}

const Buffer& Decoder::Logits(const Buffer& hidden, std::span<const TokenId> ids,
                              Workspace& workspace) const {
  LATTICE_CHECK(config_.info.has_lm_head);
  Buffer& logits = workspace[kLogits];
  if (ids.empty()) {
    backend_.Linear(hidden, WholeHead(), {}, logits);
  } else {
    backend_.Linear(hidden, *HeadRows(ids), {}, logits);
  }
  return logits;
}

}  // namespace

Result<ModelInfo> DescribeDecoder(const JsonView& config) {
  LATTICE_TRY(DecoderConfig decoder, ReadDecoderConfig(config));
  return std::move(decoder.info);
}

Result<std::shared_ptr<const Model>> LoadDecoder(const ModelSource& source) {
  LATTICE_TRY(DecoderConfig config, ReadDecoderConfig(source.config));
  return Decoder::Bind(source, std::move(config));
}

}  // namespace lattice::models
