// Gemma 4 text: sandwich norms, sliding and wider global heads, last layers that read the keys of
// earlier ones, inputs of a token for every layer, and a mixture beside the dense layer. Source:
// the reference's Gemma 4 classes.
#include <array>
#include <cmath>
#include <vector>

#include "models/attention.h"
#include "models/families.h"
#include "models/feed_forward.h"
#include "models/gemma4_config.h"
#include "models/lm_head.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;
using kernels::HeadColumns;

constexpr std::string_view kPrefixes[] = {"model.language_model.", "model.",
                                          "language_model.model.", ""};

/// The part of a feed-forward block that is a mixture.
struct MixtureBlock {
  std::unique_ptr<kernels::LinearWeights> router;
  std::unique_ptr<kernels::Vector> router_norm;  ///< [hidden]
  std::unique_ptr<kernels::ExpertWeights> experts;
  std::unique_ptr<kernels::Vector> expert_scale;
  std::unique_ptr<kernels::Vector> pre_norm, post_norm, dense_post_norm;
};

struct Gemma4Weights {
  std::unique_ptr<kernels::Vector> input_norm, post_attention_norm, pre_ffn_norm, post_ffn_norm;
  std::unique_ptr<kernels::LinearWeights> in;  ///< Queries; keys and values unless they are shared.
  std::unique_ptr<kernels::LinearWeights> out;
  std::unique_ptr<kernels::Vector> q_norm, k_norm, v_norm;  ///< The last is all ones.
  FeedForward ffn;
  MixtureBlock mixture;
  std::unique_ptr<kernels::LinearWeights> input_gate, input_projection;  ///< Null: no such inputs.
  std::unique_ptr<kernels::Vector> layer_input_norm;
  float scale = 1.0f;
};

ModelDescription DescribeGemma(Gemma4Config config) {
  ModelDescription description;
  std::size_t heads = 0, ffn = 0;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const Gemma4Layer& layer = config.layers[i];
    LayerState state;
    if (layer.kv_source == i) {
      state.kind = LayerState::Kind::kAttention;
      state.kv = {.n_kv_heads = layer.heads.n_kv_heads, .head_dim = layer.heads.head_dim};
    }
    description.state.layers.push_back(state);
    heads = std::max(heads, 2 * layer.heads.q_width() + 2 * layer.heads.kv_width());
    ffn = std::max(ffn, 3 * layer.ffn_hidden);
  }
  description.row_floats =
      7 * config.info.hidden + heads + ffn + 2 * config.layer_input * (config.layers.size() + 1) +
      config.mixture.n_experts + 3 * config.mixture.n_used * config.mixture.ffn_hidden;
  description.info = std::move(config.info);
  return description;
}

class Gemma4 final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source, Gemma4Config config);

  const ModelInfo& info() const override { return config_.info; }
  const StateShape& state_shape() const override { return state_shape_; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Logits(const Buffer& hidden, std::span<const TokenId> ids,
                       Workspace& workspace) const override {
    LATTICE_CHECK(head_ != nullptr);
    return head_->Logits(hidden, ids, workspace);
  }

 private:
  Gemma4(const ModelSource& source, Gemma4Config config)
      : config_(std::move(config)),
        checkpoint_(source.checkpoint),
        memory_(source.memory),
        backend_(*source.backend) {
    state_shape_ = DescribeGemma(config_).state;
    state_shape_.fingerprint = source.fingerprint;
  }
  Status BindAttention(const Binder& binder, std::size_t i, Gemma4Weights& layer) const;
  Status BindNorms(const Binder& binder, const std::string& at, Gemma4Weights& layer) const;
  Status BindMixtureBlock(const Binder& binder, const std::string& at, MixtureBlock& block) const;
  Status BindLayerInputs(const Binder& binder, const std::string& at, Gemma4Weights& layer) const;
  Result<Gemma4Weights> BindLayer(const Binder& binder, std::size_t i) const;
  Status BindEnds(const ModelSource& source, const Binder& binder);

  void MakeLayerInputs(const Batch& batch, const Buffer& embedded, Workspace& workspace) const;
  void Attend(std::size_t i, const Batch& batch, const RowPlan& plan, const Buffer& normed,
              Buffer& context, Workspace& workspace) const;
  void RunMixture(const Gemma4Weights& layer, const Buffer& x, Buffer& y,
                  Workspace& workspace) const;
  void AddFeedForwardBlock(const Gemma4Weights& layer, Buffer& x, Workspace& workspace) const;
  void AddLayerInput(std::size_t i, const RowPlan& plan, bool wanted_only, Buffer& x,
                     Workspace& workspace) const;
  Buffer& RunLayer(std::size_t i, const Batch& batch, const RowPlan& plan, bool wanted_only,
                   Buffer& x, Workspace& workspace) const;
  void Norm(const Buffer& x, const kernels::Vector& gain, Buffer& out) const {
    backend_.RmsNorm(x, gain, config_.norm_eps, out);
  }

  Gemma4Config config_;
  StateShape state_shape_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // tables and stored weights view it
  std::shared_ptr<const kernels::WeightMemory> memory_;    // the other weights are in it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_, layer_words_;
  std::unique_ptr<kernels::LinearWeights> layer_context_;
  std::unique_ptr<kernels::Vector> layer_context_norm_;
  std::vector<Gemma4Weights> layers_;
  std::unique_ptr<kernels::Vector> final_norm_;
  std::unique_ptr<LmHead> head_;
};

Status Gemma4::BindAttention(const Binder& binder, std::size_t i, Gemma4Weights& layer) const {
  const Gemma4Layer& kind = config_.layers[i];
  const HeadShape& heads = kind.heads;
  const std::size_t hidden = config_.info.hidden;
  const std::string at = "layers." + std::to_string(i) + ".self_attn.";
  const LinearPart q{at + "q_proj", heads.q_width()}, k{at + "k_proj", heads.kv_width()};
  const LinearPart v{at + (kind.values_are_keys ? "k_proj" : "v_proj"), heads.kv_width()};
  LATTICE_TRY(layer.q_norm, binder.Vector(at + "q_norm.weight", heads.head_dim));
  LATTICE_TRY(layer.out, binder.Linear({{at + "o_proj", hidden}}, heads.q_width(), Bias::kNone));
  if (kind.kv_source != i) {
    LATTICE_TRY(layer.in, binder.Linear({q}, hidden, Bias::kNone));
    return Ok();
  }
  LATTICE_TRY(layer.in, binder.Linear({q, k, v}, hidden, Bias::kNone));
  LATTICE_TRY(layer.k_norm, binder.Vector(at + "k_norm.weight", heads.head_dim));
  layer.v_norm = binder.MakeVector(std::vector<float>(heads.head_dim, 1.0f));
  return Ok();
}

Status Gemma4::BindNorms(const Binder& binder, const std::string& at, Gemma4Weights& layer) const {
  const std::size_t hidden = config_.info.hidden;
  LATTICE_TRY(layer.input_norm, binder.Vector(at + "input_layernorm.weight", hidden));
  LATTICE_TRY(layer.post_attention_norm,
              binder.Vector(at + "post_attention_layernorm.weight", hidden));
  LATTICE_TRY(layer.pre_ffn_norm, binder.Vector(at + "pre_feedforward_layernorm.weight", hidden));
  LATTICE_TRY(layer.post_ffn_norm, binder.Vector(at + "post_feedforward_layernorm.weight", hidden));
  return Ok();
}

Status Gemma4::BindMixtureBlock(const Binder& binder, const std::string& at,
                                MixtureBlock& block) const {
  const std::size_t hidden = config_.info.hidden;
  const MixtureConfig& mixture = config_.mixture;
  LATTICE_TRY(block.router, binder.InFullPrecision().Linear(
                                {{at + "router.proj", mixture.n_experts}}, hidden, Bias::kNone));
  LATTICE_TRY(auto scale, binder.Values(at + "router.scale", {{hidden}}));
  for (float& value : scale) value /= std::sqrt(static_cast<float>(hidden));
  block.router_norm = binder.MakeVector(scale);
  LATTICE_TRY(block.experts, BindExperts(binder, at.substr(0, at.size() - 1), hidden, mixture));
  LATTICE_TRY(block.expert_scale, binder.Vector(at + "router.per_expert_scale", mixture.n_experts));
  LATTICE_TRY(block.pre_norm, binder.Vector(at + "pre_feedforward_layernorm_2.weight", hidden));
  LATTICE_TRY(block.post_norm, binder.Vector(at + "post_feedforward_layernorm_2.weight", hidden));
  LATTICE_TRY(block.dense_post_norm,
              binder.Vector(at + "post_feedforward_layernorm_1.weight", hidden));
  return Ok();
}

Status Gemma4::BindLayerInputs(const Binder& binder, const std::string& at,
                               Gemma4Weights& layer) const {
  const std::size_t hidden = config_.info.hidden, width = config_.layer_input;
  LATTICE_TRY(layer.input_gate,
              binder.Linear({{at + "per_layer_input_gate", width}}, hidden, Bias::kNone));
  LATTICE_TRY(layer.input_projection,
              binder.Linear({{at + "per_layer_projection", hidden}}, width, Bias::kNone));
  LATTICE_TRY(layer.layer_input_norm,
              binder.Vector(at + "post_per_layer_input_norm.weight", hidden));
  return Ok();
}

Result<Gemma4Weights> Gemma4::BindLayer(const Binder& binder, std::size_t i) const {
  const std::string at = "layers." + std::to_string(i) + ".";
  Gemma4Weights layer;
  LATTICE_TRY_VOID(BindNorms(binder, at, layer));
  LATTICE_TRY_VOID(BindAttention(binder, i, layer));
  LATTICE_TRY(layer.ffn,
              BindFeedForward(binder, at + "mlp", config_.info.hidden, config_.layers[i].ffn_hidden,
                              config_.activation, Bias::kNone));
  if (config_.mixture.n_experts > 0) {
    LATTICE_TRY_VOID(BindMixtureBlock(binder, at, layer.mixture));
  }
  if (config_.layer_input > 0) LATTICE_TRY_VOID(BindLayerInputs(binder, at, layer));
  LATTICE_TRY(const auto scale, binder.Values(at + "layer_scalar", {{1}}));
  layer.scale = scale[0];
  return layer;
}

Status Gemma4::BindEnds(const ModelSource& source, const Binder& binder) {
  const ModelInfo& info = config_.info;
  LATTICE_TRY(final_norm_, binder.Vector("norm.weight", info.hidden));
  if (config_.layer_input > 0) {
    const std::size_t width = config_.layer_input * info.n_layers;
    LATTICE_TRY(layer_words_, binder.Table("embed_tokens_per_layer.weight", info.vocab, width));
    LATTICE_TRY(layer_context_,
                binder.Linear({{"per_layer_model_projection", width}}, info.hidden, Bias::kNone));
    LATTICE_TRY(layer_context_norm_,
                binder.Vector("per_layer_projection_norm.weight", config_.layer_input));
  }
  if (info.has_lm_head) {
    LATTICE_TRY(head_,
                LmHead::Find(source, binder, config_.tied_head, info, config_.logit_soft_cap));
  }
  LATTICE_TRY(words_, LmHead::Words(head_.get(), config_.tied_head, binder, info));
  return Ok();
}

Result<std::shared_ptr<const Model>> Gemma4::Bind(const ModelSource& source, Gemma4Config config) {
  std::shared_ptr<Gemma4> model(new Gemma4(source, std::move(config)));
  LATTICE_TRY(const Binder binder, Binder::Make(source, kPrefixes, "embed_tokens.weight"));
  LATTICE_TRY_VOID(model->BindEnds(source, binder));
  for (std::size_t i = 0; i < model->config_.info.n_layers; ++i) {
    LATTICE_TRY(Gemma4Weights layer, model->BindLayer(binder, i));
    model->layers_.push_back(std::move(layer));
  }
  return std::shared_ptr<const Model>(std::move(model));
}

/// kLayerInputs [rows, n_layers * layer_input] = (norm of a projection of the embedding + the
/// token's own row) / sqrt(2).
void Gemma4::MakeLayerInputs(const Batch& batch, const Buffer& embedded,
                             Workspace& workspace) const {
  const std::size_t width = config_.layer_input;
  Buffer& inputs = workspace[kLayerInputs];
  Buffer& own = workspace[kLayerGate];
  const std::array<kernels::Lookup, 1> words = {{{layer_words_.get(), batch.ids}}};
  backend_.Embed(words, std::sqrt(static_cast<float>(width)), own);
  backend_.Linear(embedded, *layer_context_, {}, inputs);
  backend_.AddScaled(inputs, nullptr, 1.0f / std::sqrt(static_cast<float>(config_.info.hidden)));
  backend_.HeadRmsNorm(inputs, {0, config_.info.n_layers, width}, *layer_context_norm_,
                       config_.norm_eps);
  backend_.AddScaled(inputs, &own, 1.0f / std::sqrt(2.0f));
}

void Gemma4::Attend(std::size_t i, const Batch& batch, const RowPlan& plan, const Buffer& normed,
                    Buffer& context, Workspace& workspace) const {
  const Gemma4Weights& layer = layers_[i];
  const Gemma4Layer& kind = config_.layers[i];
  const HeadShape& heads = kind.heads;
  const kernels::Rope rope = (kind.sliding ? config_.sliding_rope : config_.rope).view();
  const HeadColumns q{0, heads.n_heads, heads.head_dim};
  const HeadColumns k{heads.q_width(), heads.n_kv_heads, heads.head_dim};
  const HeadColumns v{k.first_col + heads.kv_width(), heads.n_kv_heads, heads.head_dim};
  kernels::KvPages& pages = batch.states[0]->kv(kind.kv_source);
  Buffer& projected = workspace[kKeyValues];
  backend_.Linear(normed, *layer.in, {}, projected);
  backend_.HeadRmsNorm(projected, q, *layer.q_norm, config_.norm_eps);
  backend_.ApplyRope(projected, q, plan.all.positions, rope);
  if (kind.kv_source == i) {
    backend_.HeadRmsNorm(projected, k, *layer.k_norm, config_.norm_eps);
    backend_.HeadRmsNorm(projected, v, *layer.v_norm, config_.norm_eps);
    backend_.ApplyRope(projected, k, plan.all.positions, rope);
    backend_.StoreKv(projected, k.first_col, v.first_col, plan.slots, pages);
  }
  backend_.PagedAttention({.q = &projected,
                           .q_col = 0,
                           .n_heads = heads.n_heads,
                           .kv = &pages,
                           .scale = 1.0f,
                           .window = kind.sliding ? config_.window : 0,
                           .spans = plan.paged},
                          context);
}

/// y = norm of the experts' answer to x.
void Gemma4::RunMixture(const Gemma4Weights& layer, const Buffer& x, Buffer& y,
                        Workspace& workspace) const {
  const MixtureBlock& block = layer.mixture;
  Buffer& inputs = workspace[kGated];
  Buffer& router = workspace[kRouter];
  Norm(x, *block.router_norm, inputs);
  backend_.Linear(inputs, *block.router, {}, router);
  Norm(x, *block.pre_norm, inputs);
  backend_.Experts(inputs, router, *block.experts,
                   {.n_used = config_.mixture.n_used,
                    .renormalise = true,
                    .activation = config_.activation,
                    .expert_scale = block.expert_scale.get()},
                   y);
  Norm(y, *block.post_norm, y);
}

void Gemma4::AddFeedForwardBlock(const Gemma4Weights& layer, Buffer& x,
                                 Workspace& workspace) const {
  Buffer& normed = workspace[kNormed];
  Norm(x, *layer.pre_ffn_norm, normed);
  if (layer.mixture.experts == nullptr) {
    AddFeedForward(backend_, layer.ffn, normed, {layer.post_ffn_norm.get(), config_.norm_eps}, x,
                   workspace);
    return;
  }
  Buffer& dense = workspace[kBranch];
  Buffer& mixed = workspace[kSecondBranch];
  RunFeedForward(backend_, layer.ffn, normed, dense, workspace);
  Norm(dense, *layer.mixture.dense_post_norm, dense);
  RunMixture(layer, x, mixed, workspace);
  backend_.AddScaled(dense, &mixed, 1.0f);
  backend_.RmsNormAdd(x, dense, *layer.post_ffn_norm, config_.norm_eps, x);
}

/// x += norm(projection(activation(gate x) * this layer's input)).
void Gemma4::AddLayerInput(std::size_t i, const RowPlan& plan, bool wanted_only, Buffer& x,
                           Workspace& workspace) const {
  const Gemma4Weights& layer = layers_[i];
  const Buffer* inputs = &workspace[kLayerInputs];
  if (wanted_only) {
    Buffer& wanted = workspace[kFfn];
    backend_.GatherRows(*inputs, plan.output_rows, wanted);
    inputs = &wanted;
  }
  Buffer& gate = workspace[kLayerGate];
  Buffer& branch = workspace[kBranch];
  backend_.Linear(x, *layer.input_gate, {}, gate);
  backend_.ActivateMultiply(config_.activation, gate, *inputs, i * config_.layer_input);
  backend_.Linear(gate, *layer.input_projection, {}, branch);
  backend_.RmsNormAdd(x, branch, *layer.layer_input_norm, config_.norm_eps, x);
}

Buffer& Gemma4::RunLayer(std::size_t i, const Batch& batch, const RowPlan& plan, bool wanted_only,
                         Buffer& x, Workspace& workspace) const {
  const Gemma4Weights& layer = layers_[i];
  Buffer& normed = workspace[kNormed];
  Buffer& context = workspace[kContext];
  Norm(x, *layer.input_norm, normed);
  Attend(i, batch, plan, normed, context, workspace);
  const WantedStates wanted = SelectWanted(backend_, plan, wanted_only, x, context, workspace);
  Buffer& states = wanted.states;
  AddBranch(backend_, wanted.context, *layer.out,
            {layer.post_attention_norm.get(), config_.norm_eps}, states, workspace);
  AddFeedForwardBlock(layer, states, workspace);
  if (config_.layer_input > 0) AddLayerInput(i, plan, wanted_only, states, workspace);
  backend_.AddScaled(states, nullptr, layer.scale);
  return states;
}

const Buffer& Gemma4::Forward(const Batch& batch, Workspace& workspace,
                              const HiddenTap* tap) const {
  RowPlan& plan = workspace.plan();
  PlanRows(batch, config_.info, plan);
  Buffer* x = &workspace[kStates];
  const std::array<kernels::Lookup, 1> words = {{{words_.get(), batch.ids}}};
  backend_.Embed(words, std::sqrt(static_cast<float>(config_.info.hidden)), *x);
  if (config_.layer_input > 0) MakeLayerInputs(batch, *x, workspace);
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

}  // namespace

Result<ModelDescription> DescribeGemma4(const JsonView& config) {
  LATTICE_TRY(Gemma4Config gemma, ReadGemma4Config(config));
  return DescribeGemma(std::move(gemma));
}

Result<std::shared_ptr<const Model>> LoadGemma4(const ModelSource& source) {
  LATTICE_TRY(Gemma4Config config, ReadGemma4Config(source.config));
  return Gemma4::Bind(source, std::move(config));
}

}  // namespace lattice::models
