// Qwen3.5, Qwen3.6 and Qwen3-Next text models: gated DeltaNet layers with gated attention every few
// layers. Source: Yang et al. 2024 "Gated Delta Networks"; the reference's Qwen3.5 classes.
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/attention.h"
#include "models/families.h"
#include "models/feed_forward.h"
#include "models/lm_head.h"
#include "models/qwen3_5_config.h"

namespace lattice::models {
namespace {

using kernels::Backend;
using kernels::Buffer;

constexpr std::string_view kPrefixes[] = {"model.language_model.", "model.",
                                          "language_model.model.", ""};

struct HybridLayer {
  std::unique_ptr<kernels::Vector> input_norm, ffn_norm;
  /// Attention: rows of queries, their gates, keys, values. DeltaNet: channels of the convolution,
  /// gates, inputs of beta, inputs of the decay.
  std::unique_ptr<kernels::LinearWeights> in, out;
  std::unique_ptr<kernels::Vector> q_norm, k_norm;  ///< Of attention.
  std::unique_ptr<kernels::Vector> conv, decay, dt_bias, gated_norm;
  FeedForward ffn;
};

ModelDescription DescribeHybrid(Qwen35Config config) {
  ModelDescription description;
  const kernels::KvShape kv{.n_kv_heads = config.heads.n_kv_heads,
                            .head_dim = config.heads.head_dim};
  for (const bool attention : config.attention) {
    description.state.layers.push_back(
        attention
            ? LayerState{.kind = LayerState::Kind::kAttention, .kv = kv}
            : LayerState{
                  .kind = LayerState::Kind::kDeltaNet, .kv = {}, .delta_net = config.delta_net});
  }
  const MixtureConfig& mixture = config.mixture;
  const std::size_t mixer =
      std::max(3 * config.heads.q_width() + 2 * config.heads.kv_width(),
               config.delta_net.conv_width() + 2 * config.delta_net.value_width() +
                   2 * config.delta_net.n_value_heads);
  description.row_floats = 5 * config.info.hidden + mixer +
                           3 * (config.ffn_hidden + mixture.shared_ffn_hidden) + mixture.n_experts +
                           3 * mixture.n_used * mixture.ffn_hidden;
  description.info = std::move(config.info);
  return description;
}

class Qwen35 final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source, Qwen35Config config);

  const ModelInfo& info() const override { return config_.info; }
  const StateShape& state_shape() const override { return state_shape_; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Logits(const Buffer& hidden, std::span<const TokenId> ids,
                       Workspace& workspace) const override {
    return head_->Logits(hidden, ids, workspace);
  }

 private:
  Qwen35(const ModelSource& source, Qwen35Config config)
      : config_(std::move(config)),
        checkpoint_(source.checkpoint),
        memory_(source.memory),
        backend_(*source.backend) {
    state_shape_ = DescribeHybrid(config_).state;
    state_shape_.fingerprint = source.fingerprint;
  }
  Status BindAttentionLayer(const Binder& binder, const std::string& at, HybridLayer& layer) const;
  Status BindDeltaNetLayer(const Binder& binder, const std::string& at, HybridLayer& layer) const;
  Result<std::unique_ptr<kernels::LinearWeights>> BindDeltaNetInputs(const Binder& binder,
                                                                     const std::string& at) const;
  Result<HybridLayer> BindLayer(const Binder& binder, std::size_t i) const;

  void Attend(std::size_t i, const Batch& batch, const RowPlan& plan, const Buffer& normed,
              Buffer& context, Workspace& workspace) const;
  void Recur(std::size_t i, const Batch& batch, RowPlan& plan, const Buffer& normed,
             Buffer& context, Workspace& workspace) const;
  Buffer& RunLayer(std::size_t i, const Batch& batch, RowPlan& plan, bool wanted_only, Buffer& x,
                   Workspace& workspace) const;

  Qwen35Config config_;
  StateShape state_shape_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // tables and stored weights view it
  std::shared_ptr<const kernels::WeightMemory> memory_;    // the other weights are in it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_;
  std::vector<HybridLayer> layers_;
  std::unique_ptr<kernels::Vector> final_norm_;
  std::unique_ptr<LmHead> head_;
};

/// A head's rows are kept as its query followed by its gate; wanted are all queries, then all
/// gates.
std::vector<std::uint32_t> QueriesThenGates(const HeadShape& heads) {
  std::vector<std::uint32_t> order;
  for (std::size_t part = 0; part < 2; ++part) {
    for (std::size_t row = 0; row < heads.q_width(); ++row) {
      const std::size_t head = row / heads.head_dim, at = row % heads.head_dim;
      order.push_back(static_cast<std::uint32_t>((2 * head + part) * heads.head_dim + at));
    }
  }
  return order;
}

/// Rows kept group by group (one a key head), each the pieces of `sizes` one after another; wanted
/// are the first pieces of all groups, then all second ones, and so on.
std::vector<std::uint32_t> Regroup(std::size_t n_groups, std::initializer_list<std::size_t> sizes) {
  const std::size_t group = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  std::vector<std::uint32_t> order;
  std::size_t begin = 0;
  for (const std::size_t size : sizes) {
    for (std::size_t g = 0; g < n_groups; ++g) {
      for (std::size_t i = 0; i < size; ++i) {
        order.push_back(static_cast<std::uint32_t>(g * group + begin + i));
      }
    }
    begin += size;
  }
  return order;
}

Status Qwen35::BindAttentionLayer(const Binder& binder, const std::string& at,
                                  HybridLayer& layer) const {
  const HeadShape& heads = config_.heads;
  const auto order = QueriesThenGates(heads);
  LATTICE_TRY(layer.in, binder.Linear({{at + "q_proj", 2 * heads.q_width(), order},
                                       {at + "k_proj", heads.kv_width()},
                                       {at + "v_proj", heads.kv_width()}},
                                      config_.info.hidden, Bias::kNone));
  LATTICE_TRY(layer.q_norm, binder.OnePlusGain(at + "q_norm.weight", heads.head_dim));
  LATTICE_TRY(layer.k_norm, binder.OnePlusGain(at + "k_norm.weight", heads.head_dim));
  LATTICE_TRY(layer.out,
              binder.Linear({{at + "o_proj", config_.info.hidden}}, heads.q_width(), Bias::kNone));
  return Ok();
}

/// Four tensors, or the two of Qwen3-Next, which keeps rows by key heads.
Result<std::unique_ptr<kernels::LinearWeights>> Qwen35::BindDeltaNetInputs(
    const Binder& binder, const std::string& at) const {
  const kernels::DeltaNetShape& shape = config_.delta_net;
  const std::size_t hidden = config_.info.hidden, n_heads = shape.n_value_heads;
  if (!binder.Has(at + "in_proj_qkvz.weight")) {
    return binder.Linear({{at + "in_proj_qkv", shape.conv_width()},
                          {at + "in_proj_z", shape.value_width()},
                          {at + "in_proj_b", n_heads},
                          {at + "in_proj_a", n_heads}},
                         hidden, Bias::kNone);
  }
  const std::size_t each = n_heads / shape.n_key_heads;  // value heads of one key head
  const auto qkvz = Regroup(shape.n_key_heads, {shape.key_dim, shape.key_dim,
                                                each * shape.value_dim, each * shape.value_dim});
  const auto ba = Regroup(shape.n_key_heads, {each, each});
  return binder.Linear(
      {{at + "in_proj_qkvz", qkvz.size(), qkvz}, {at + "in_proj_ba", ba.size(), ba}}, hidden,
      Bias::kNone);
}

Status Qwen35::BindDeltaNetLayer(const Binder& binder, const std::string& at,
                                 HybridLayer& layer) const {
  const kernels::DeltaNetShape& shape = config_.delta_net;
  const std::size_t channels = shape.conv_width(), taps = shape.conv_kernel;
  LATTICE_TRY(layer.in, BindDeltaNetInputs(binder, at));
  LATTICE_TRY(const auto conv,
              binder.Values(at + "conv1d.weight",
                            {{channels, 1, taps}, {channels, taps, 1}, {channels, taps}}));
  layer.conv = binder.MakeVector(conv);
  LATTICE_TRY(auto decay, binder.Values(at + "A_log", {{shape.n_value_heads}}));
  if (!binder.layout().finished_decays) {
    for (float& value : decay) value = -std::exp(value);
  }
  layer.decay = binder.MakeVector(decay);
  LATTICE_TRY(layer.dt_bias, binder.Vector(at + "dt_bias", shape.n_value_heads));
  LATTICE_TRY(layer.gated_norm, binder.Vector(at + "norm.weight", shape.value_dim));
  LATTICE_TRY(layer.out, binder.Linear({{at + "out_proj", config_.info.hidden}},
                                       shape.value_width(), Bias::kNone));
  return Ok();
}

Result<HybridLayer> Qwen35::BindLayer(const Binder& binder, std::size_t i) const {
  const std::size_t hidden = config_.info.hidden;
  const std::string at = "layers." + std::to_string(i) + ".";
  HybridLayer layer;
  LATTICE_TRY(layer.input_norm, binder.OnePlusGain(at + "input_layernorm.weight", hidden));
  LATTICE_TRY(layer.ffn_norm, binder.OnePlusGain(at + "post_attention_layernorm.weight", hidden));
  if (config_.attention[i]) {
    LATTICE_TRY_VOID(BindAttentionLayer(binder, at + "self_attn.", layer));
  } else {
    LATTICE_TRY_VOID(BindDeltaNetLayer(binder, at + "linear_attn.", layer));
  }
  const bool mixed = config_.mixture.n_experts > 0;
  LATTICE_TRY(layer.ffn,
              mixed ? BindMixture(binder, at + "mlp", hidden, config_.mixture, config_.activation)
                    : BindFeedForward(binder, at + "mlp", hidden, config_.ffn_hidden,
                                      config_.activation, Bias::kNone));
  return layer;
}

Result<std::shared_ptr<const Model>> Qwen35::Bind(const ModelSource& source, Qwen35Config config) {
  std::shared_ptr<Qwen35> model(new Qwen35(source, std::move(config)));
  const ModelInfo& info = model->config_.info;
  LATTICE_TRY(const Binder binder, Binder::Make(source, kPrefixes, "embed_tokens.weight"));
  const bool tied = model->config_.tied_head;
  LATTICE_TRY(model->head_, LmHead::Find(source, binder, tied, info, 0.0f));
  LATTICE_TRY(model->words_, LmHead::Words(model->head_.get(), tied, binder, info));
  for (std::size_t i = 0; i < info.n_layers; ++i) {
    LATTICE_TRY(HybridLayer layer, model->BindLayer(binder, i));
    model->layers_.push_back(std::move(layer));
  }
  LATTICE_TRY(model->final_norm_, binder.OnePlusGain("norm.weight", info.hidden));
  return std::shared_ptr<const Model>(std::move(model));
}

void Qwen35::Attend(std::size_t i, const Batch& batch, const RowPlan& plan, const Buffer& normed,
                    Buffer& context, Workspace& workspace) const {
  const HybridLayer& layer = layers_[i];
  const HeadShape& heads = config_.heads;
  const std::size_t gate_col = heads.q_width(), k_col = 2 * heads.q_width();
  const std::size_t v_col = k_col + heads.kv_width();
  const kernels::HeadColumns q{0, heads.n_heads, heads.head_dim};
  const kernels::HeadColumns k{k_col, heads.n_kv_heads, heads.head_dim};
  Buffer& projected = workspace[kKeyValues];
  backend_.Linear(normed, *layer.in, {}, projected);
  backend_.HeadRmsNorm(projected, q, *layer.q_norm, config_.norm_eps);
  backend_.HeadRmsNorm(projected, k, *layer.k_norm, config_.norm_eps);
  backend_.ApplyRope(projected, q, plan.all.positions, config_.rope.view());
  backend_.ApplyRope(projected, k, plan.all.positions, config_.rope.view());
  kernels::KvPages& pages = batch.states[0]->kv(i);
  backend_.StoreKv(projected, k_col, v_col, plan.slots, pages);
  backend_.PagedAttention({.q = &projected,
                           .q_col = 0,
                           .n_heads = heads.n_heads,
                           .kv = &pages,
                           .scale = 1.0f / std::sqrt(static_cast<float>(heads.head_dim)),
                           .spans = plan.paged},
                          context);
  backend_.SigmoidGate(context, projected, gate_col);
}

void Qwen35::Recur(std::size_t i, const Batch& batch, RowPlan& plan, const Buffer& normed,
                   Buffer& context, Workspace& workspace) const {
  const HybridLayer& layer = layers_[i];
  const kernels::DeltaNetShape& shape = config_.delta_net;
  const std::size_t gate_col = shape.conv_width();
  const std::size_t beta_col = gate_col + shape.value_width();
  Buffer& projected = workspace[kKeyValues];
  backend_.Linear(normed, *layer.in, {}, projected);
  PlanDeltaNet(batch, i, plan);
  backend_.DeltaNet({.shape = shape,
                     .weights = {layer.conv.get(), layer.decay.get(), layer.dt_bias.get(),
                                 layer.gated_norm.get()},
                     .x = &projected,
                     .qkv_col = 0,
                     .beta_col = beta_col,
                     .decay_col = beta_col + shape.n_value_heads,
                     .gate_col = gate_col,
                     .norm_eps = config_.norm_eps,
                     .spans = plan.recurrent},
                    context);
}

Buffer& Qwen35::RunLayer(std::size_t i, const Batch& batch, RowPlan& plan, bool wanted_only,
                         Buffer& x, Workspace& workspace) const {
  const HybridLayer& layer = layers_[i];
  Buffer& normed = workspace[kNormed];
  Buffer& context = workspace[kContext];
  backend_.RmsNorm(x, *layer.input_norm, config_.norm_eps, normed);
  if (config_.attention[i]) {
    Attend(i, batch, plan, normed, context, workspace);
  } else {
    Recur(i, batch, plan, normed, context, workspace);
  }
  const WantedStates wanted = SelectWanted(backend_, plan, wanted_only, x, context, workspace);
  AddBranch(backend_, wanted.context, *layer.out, {}, wanted.states, workspace);
  backend_.RmsNorm(wanted.states, *layer.ffn_norm, config_.norm_eps, normed);
  AddFeedForward(backend_, layer.ffn, normed, {}, wanted.states, workspace);
  return wanted.states;
}

const Buffer& Qwen35::Forward(const Batch& batch, Workspace& workspace,
                              const HiddenTap* tap) const {
  RowPlan& plan = workspace.plan();
  PlanRows(batch, config_.info, plan);
  Buffer* x = &workspace[kStates];
  const std::array<kernels::Lookup, 1> words = {{{words_.get(), batch.ids}}};
  backend_.Embed(words, 1.0f, *x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (tap != nullptr) (*tap)(i, *x);
    const bool wanted_only = tap == nullptr && plan.subset() && i + 1 == layers_.size();
    x = &RunLayer(i, batch, plan, wanted_only, *x, workspace);
  }
  AdvanceStates(batch);
  backend_.RmsNorm(*x, *final_norm_, config_.norm_eps, *x);
  if (tap == nullptr) return *x;
  (*tap)(layers_.size(), *x);
  return WantedRows(backend_, plan, *x, workspace);
}

/// Files of MLX keep a convolution's weights [channels, taps, 1], and norms that are 1 + w already.
bool IsMlxFile(const ModelSource& source, const Qwen35Config& config) {
  const auto binder = Binder::Make(source, kPrefixes, "embed_tokens.weight");
  if (!binder) return false;
  for (std::size_t i = 0; i < config.attention.size(); ++i) {
    if (config.attention[i]) continue;
    const auto shape = binder->Shape("layers." + std::to_string(i) + ".linear_attn.conv1d.weight");
    return shape.size() == 3 && shape[2] == 1 && shape[1] == config.delta_net.conv_kernel;
  }
  return false;
}

}  // namespace

Result<ModelDescription> DescribeQwen35(const JsonView& config) {
  LATTICE_TRY(Qwen35Config hybrid, ReadQwen35Config(config));
  return DescribeHybrid(std::move(hybrid));
}

Result<std::shared_ptr<const Model>> LoadQwen35(const ModelSource& source) {
  LATTICE_TRY(Qwen35Config config, ReadQwen35Config(source.config));
  config.delta_net.order = source.layout.value_heads;
  ModelSource own = source;
  if (IsMlxFile(source, config)) own.layout.finished_norms = true;
  return Qwen35::Bind(own, std::move(config));
}

}  // namespace lattice::models
