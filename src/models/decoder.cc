// The decoder graph: Llama, Mistral, Qwen2, Qwen3, Qwen3-MoE, SmolLM, Gemma 2 and Gemma 3 text, as
// generators, embedders and rerankers. RMS norms, optional norms of query and key heads, rotary
// positions, gated feed-forward or a mixture of such. Source: Touvron et al. 2023 "LLaMA"; Qwen3
// technical report 2025; Gemma 2 and Gemma 3 technical reports 2024 and 2025.
#include <array>
#include <vector>

#include "models/attention.h"
#include "models/classification_head.h"
#include "models/decoder_config.h"
#include "models/families.h"
#include "models/feed_forward.h"
#include "models/lm_head.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;

constexpr std::string_view kPrefixes[] = {"model.", "", "language_model.model.",
                                          "model.language_model."};

struct DecoderLayer {
  std::unique_ptr<kernels::Vector> input_norm, ffn_norm;
  std::unique_ptr<kernels::Vector> post_attention_norm, post_ffn_norm;  ///< Null: not a sandwich.
  AttentionWeights attention;
  std::unique_ptr<kernels::LinearWeights> attention_out;
  FeedForward ffn;
  AttentionKind kind;
};

class Decoder final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source, DecoderConfig config);

  const ModelInfo& info() const override { return config_.info; }
  const StateShape& state_shape() const override { return state_shape_; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Classify(const Batch& batch, Workspace& workspace) const override;
  const Buffer& Logits(const Buffer& hidden, std::span<const TokenId> ids,
                       Workspace& workspace) const override;

 private:
  Decoder(const ModelSource& source, DecoderConfig config)
      : config_(std::move(config)),
        checkpoint_(source.checkpoint),
        memory_(source.memory),
        backend_(*source.backend) {
    if (source.stored) state_shape_ = Describe(config_).state;
    state_shape_.fingerprint = source.fingerprint;
  }
  AttentionKind Kind(std::size_t layer, kernels::Precision precision) const;
  Result<DecoderLayer> BindLayer(const ModelSource& source, const Binder& binder,
                                 std::size_t i) const;
  Result<AttentionWeights> BindHeadProjections(const ModelSource& source, const Binder& binder,
                                               std::size_t i) const;
  Status BindNorms(const Binder& binder, const std::string& at, DecoderLayer& layer) const;
  Status BindHeads(const ModelSource& source, const Binder& binder);

  WantedStates Attend(std::size_t i, const Batch& batch, const RowPlan& plan, bool wanted_only,
                      Buffer& x, Workspace& workspace) const;
  Buffer& RunLayer(std::size_t i, const Batch& batch, const RowPlan& plan, bool wanted_only,
                   Buffer& x, Workspace& workspace) const;
  void Norm(const Buffer& x, const kernels::Vector& gain, Buffer& out) const {
    backend_.RmsNorm(x, gain, config_.norm_eps, out);
  }

  DecoderConfig config_;
  StateShape state_shape_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // tables and stored weights view it
  std::shared_ptr<const kernels::WeightMemory> memory_;    // the other weights are in it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_;
  std::vector<DecoderLayer> layers_;
  std::unique_ptr<kernels::Vector> final_norm_;
  ClassificationHead classifier_;
  std::unique_ptr<LmHead> head_;
};

AttentionKind Decoder::Kind(std::size_t layer, kernels::Precision precision) const {
  const bool sliding = config_.sliding[layer];
  const bool own_rope = sliding && !config_.sliding_rope.inv_freq.empty();
  const bool rotary = config_.rotary.empty() || config_.rotary[layer];
  const RopeTable& rope = own_rope ? config_.sliding_rope : config_.rope;
  return {.heads = config_.heads,
          .scale = config_.attention_scale,
          .soft_cap = config_.attention_soft_cap,
          .causal = config_.info.causal,
          .window = sliding ? config_.window : 0,
          .rope = rotary ? &rope : nullptr,
          .norm_eps = config_.norm_eps,
          .precision = precision};
}

/// In a sandwich, post_attention_layernorm stands after attention; elsewhere it is what the
/// feed-forward layer reads through.
Status Decoder::BindNorms(const Binder& binder, const std::string& at, DecoderLayer& layer) const {
  const std::size_t hidden = config_.info.hidden;
  const auto bind = [&](const char* name, std::size_t n) {
    const std::string full = at + name + ".weight";
    return config_.one_plus_norms ? binder.OnePlusGain(full, n) : binder.Vector(full, n);
  };
  LATTICE_TRY(layer.input_norm, bind("input_layernorm", hidden));
  if (config_.head_norms) {
    LATTICE_TRY(layer.attention.q_norm, bind("self_attn.q_norm", config_.heads.head_dim));
    LATTICE_TRY(layer.attention.k_norm, bind("self_attn.k_norm", config_.heads.head_dim));
  }
  if (!config_.sandwich) {
    LATTICE_TRY(layer.ffn_norm, bind("post_attention_layernorm", hidden));
    return Ok();
  }
  LATTICE_TRY(layer.post_attention_norm, bind("post_attention_layernorm", hidden));
  LATTICE_TRY(layer.ffn_norm, bind("pre_feedforward_layernorm", hidden));
  LATTICE_TRY(layer.post_ffn_norm, bind("post_feedforward_layernorm", hidden));
  return Ok();
}

/// A generator makes queries, keys and values of the last layer for all rows in one product; an
/// embedder needs the queries of few.
Result<AttentionWeights> Decoder::BindHeadProjections(const ModelSource& source,
                                                      const Binder& binder, std::size_t i) const {
  const std::string at = "layers." + std::to_string(i) + ".self_attn.";
  const bool split = !source.stored && i + 1 == config_.info.n_layers;
  return BindAttention(binder, {at + "q_proj", at + "k_proj", at + "v_proj"}, config_.heads,
                       config_.info.hidden, config_.qkv_bias ? Bias::kRequired : Bias::kNone,
                       split);
}

Result<DecoderLayer> Decoder::BindLayer(const ModelSource& source, const Binder& binder,
                                        std::size_t i) const {
  const std::size_t hidden = config_.info.hidden;
  const std::string at = "layers." + std::to_string(i) + ".";
  DecoderLayer layer;
  LATTICE_TRY(layer.attention, BindHeadProjections(source, binder, i));
  LATTICE_TRY_VOID(BindNorms(binder, at, layer));
  LATTICE_TRY(layer.attention_out,
              binder.Linear({{at + "self_attn.o_proj", hidden}}, config_.heads.q_width(),
                            config_.out_bias ? Bias::kRequired : Bias::kNone));
  const bool mixed = !config_.mixed.empty() && config_.mixed[i];
  LATTICE_TRY(
      layer.ffn,
      mixed ? BindMixture(binder, at + "mlp", hidden, config_.mixture, config_.activation)
            : BindFeedForward(binder, at + "mlp", hidden, config_.ffn_hidden, config_.activation,
                              config_.ffn_bias ? Bias::kRequired : Bias::kNone));
  layer.kind = Kind(i, source.precision);
  return layer;
}

/// A generator saved as an embedder has lost its own head: then there are no logits.
Status Decoder::BindHeads(const ModelSource& source, const Binder& binder) {
  ModelInfo& info = config_.info;
  const Binder top = binder.WithoutPrefix();
  if (info.n_labels > 0) {
    LATTICE_TRY(classifier_.classifier,
                top.InFullPrecision().Linear({{"score", info.n_labels}}, info.hidden, Bias::kNone));
  }
  if (!info.has_lm_head) return Ok();
  const bool lost = !config_.tied_head && !top.Has("lm_head.weight") &&
                    !binder.WithPrefix("language_model.").Has("lm_head.weight");
  info.has_lm_head = source.stored || !lost;
  if (!info.has_lm_head) return Ok();
  LATTICE_TRY(head_, LmHead::Find(source, binder, config_.tied_head, info, config_.logit_soft_cap));
  return Ok();
}

Result<std::shared_ptr<const Model>> Decoder::Bind(const ModelSource& source,
                                                   DecoderConfig config) {
  std::shared_ptr<Decoder> model(new Decoder(source, std::move(config)));
  const ModelInfo& info = model->config_.info;
  LATTICE_TRY(const Binder binder, Binder::Make(source, kPrefixes, "embed_tokens.weight"));
  LATTICE_TRY_VOID(model->BindHeads(source, binder));
  LATTICE_TRY(model->words_,
              LmHead::Words(model->head_.get(), model->config_.tied_head, binder, info));
  for (std::size_t i = 0; i < info.n_layers; ++i) {
    LATTICE_TRY(DecoderLayer layer, model->BindLayer(source, binder, i));
    model->layers_.push_back(std::move(layer));
  }
  LATTICE_TRY(model->final_norm_, model->config_.one_plus_norms
                                      ? binder.OnePlusGain("norm.weight", info.hidden)
                                      : binder.Vector("norm.weight", info.hidden));
  return std::shared_ptr<const Model>(std::move(model));
}

/// Context of the rows that go on, and their states.
WantedStates Decoder::Attend(std::size_t i, const Batch& batch, const RowPlan& plan,
                             bool wanted_only, Buffer& x, Workspace& workspace) const {
  const DecoderLayer& layer = layers_[i];
  Buffer& normed = workspace[kNormed];
  Buffer& context = workspace[kContext];
  Norm(x, *layer.input_norm, normed);
  if (layer.attention.qkv == nullptr) {  // an embedder's last layer
    LATTICE_CHECK(batch.states.empty());
    const QueryRows query = SelectQueries(backend_, plan, wanted_only, x, normed, workspace);
    SelfAttention(backend_, layer.attention, layer.kind, {plan.all, query.rows}, normed,
                  query.normed, workspace, context);
    return {query.states, context};
  }
  if (batch.states.empty()) {
    SelfAttention(backend_, layer.attention, layer.kind, {plan.all, plan.all}, normed, normed,
                  workspace, context);
  } else {
    PagedSelfAttention(backend_, layer.attention, layer.kind, plan, normed, batch.states[0]->kv(i),
                       workspace, context);
  }
  const WantedStates wanted = SelectWanted(backend_, plan, wanted_only, x, context, workspace);
  return {wanted.states, wanted.context};
}

Buffer& Decoder::RunLayer(std::size_t i, const Batch& batch, const RowPlan& plan, bool wanted_only,
                          Buffer& x, Workspace& workspace) const {
  const DecoderLayer& layer = layers_[i];
  Buffer& normed = workspace[kNormed];
  const WantedStates attended = Attend(i, batch, plan, wanted_only, x, workspace);
  Buffer& states = attended.states;
  AddBranch(backend_, attended.context, *layer.attention_out,
            {layer.post_attention_norm.get(), config_.norm_eps}, states, workspace);
  Norm(states, *layer.ffn_norm, normed);
  AddFeedForward(backend_, layer.ffn, normed, {layer.post_ffn_norm.get(), config_.norm_eps}, states,
                 workspace);
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
    x = &RunLayer(i, batch, plan, wanted_only, *x, workspace);
  }
  AdvanceStates(batch);
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

const Buffer& Decoder::Logits(const Buffer& hidden, std::span<const TokenId> ids,
                              Workspace& workspace) const {
  LATTICE_CHECK(config_.info.has_lm_head);
  return head_->Logits(hidden, ids, workspace);
}

}  // namespace

Result<ModelDescription> DescribeDecoder(const JsonView& config) {
  LATTICE_TRY(DecoderConfig decoder, ReadDecoderConfig(config));
  return Describe(std::move(decoder));
}

Result<std::shared_ptr<const Model>> LoadDecoder(const ModelSource& source) {
  LATTICE_TRY(DecoderConfig config, ReadDecoderConfig(source.config));
  return Decoder::Bind(source, std::move(config));
}

}  // namespace lattice::models
