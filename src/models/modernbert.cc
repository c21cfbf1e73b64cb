// ModernBERT: a pre-norm encoder with rotary positions, gated feed-forward layers, and attention
// that is global in every third layer and local in the others. Source: Warner et al. 2024,
// "Smarter, Better, Faster, Longer".
#include <array>
#include <cmath>
#include <vector>

#include "models/attention.h"
#include "models/classification_head.h"
#include "models/config.h"
#include "models/families.h"
#include "models/rope.h"

namespace lattice::models {
namespace {

using kernels::Activation;
using kernels::Backend;
using kernels::Buffer;

constexpr std::string_view kPrefixes[] = {"", "model."};
constexpr std::string_view kClasses[] = {"ModernBertModel", "ModernBertForMaskedLM",
                                         "ModernBertForSequenceClassification"};

struct ModernBertConfig {
  ModelInfo info;
  HeadShape heads;
  std::size_t ffn_hidden = 0;
  float norm_eps = 0.0f;
  Activation activation = Activation::kNone;
  std::vector<bool> local;   ///< [n_layers]
  std::uint32_t window = 0;  ///< Keys up to this far are visible in a local layer.
  RopeTable global_rope, local_rope;
  HeadPooling pooling = HeadPooling::kFirst;
  Activation head_activation = Activation::kNone;
};

/// layer_types, or every n-th layer from the first is global.
Result<std::vector<bool>> ReadLocalLayers(const JsonView& config, std::size_t n_layers) {
  if (const auto types = config.Find("layer_types")) return ReadSlidingLayers(*types, n_layers);
  LATTICE_TRY(const std::size_t every, ReadSize(config, "global_attn_every_n_layers", kMaxLayers));
  std::vector<bool> local(n_layers);
  for (std::size_t i = 0; i < n_layers; ++i) local[i] = i % every != 0;
  return local;
}

Result<HeadPooling> ReadPooling(const JsonView& config) {
  LATTICE_TRY(const std::string name, config.StringOr("classifier_pooling", "cls"));
  if (name == "cls") return HeadPooling::kFirst;
  if (name == "mean") return HeadPooling::kMean;
  return Error{ErrorCode::kUnsupported,
               config.where() + "classifier_pooling: unknown '" + name + "'; known: cls, mean"};
}

Status ReadRopes(const JsonView& config, ModernBertConfig& bert) {
  const std::size_t d = bert.heads.head_dim, n = bert.info.max_tokens;
  LATTICE_TRY(bert.global_rope, ReadRope(config,
                                         {.layer_type = "full_attention",
                                          .theta_key = "global_rope_theta",
                                          .default_theta = 0},
                                         d, n));
  LATTICE_TRY(bert.local_rope, ReadRope(config,
                                        {.layer_type = "sliding_attention",
                                         .theta_key = "local_rope_theta",
                                         .default_theta = 0},
                                        d, n));
  return Ok();
}

Status ReadHead(const JsonView& config, ModernBertConfig& bert) {
  LATTICE_TRY_VOID(RefuseFlag(config, "classifier_bias"));
  LATTICE_TRY(bert.info.n_labels, CountLabels(config));
  LATTICE_TRY(bert.pooling, ReadPooling(config));
  LATTICE_TRY(bert.head_activation,
              ReadActivationOr(config, "classifier_activation", Activation::kGeluErf));
  return Ok();
}

Result<ModernBertConfig> ReadConfig(const JsonView& config) {
  ModernBertConfig bert;
  LATTICE_TRY_VOID(RefuseQuantised(config));
  for (const char* flag : {"attention_bias", "mlp_bias", "norm_bias"}) {
    LATTICE_TRY_VOID(RefuseFlag(config, flag));
  }
  bert.info.architecture = "modernbert";
  LATTICE_TRY(const std::string name, ReadArchitecture(config, kClasses));
  LATTICE_TRY(bert.info.vocab, ReadSize(config, "vocab_size", kMaxVocab));
  LATTICE_TRY(bert.info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(bert.info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(bert.info.max_tokens, ReadSize(config, "max_position_embeddings", kMaxPositions));
  LATTICE_TRY(const std::size_t n_heads, ReadSize(config, "num_attention_heads", kMaxHeads));
  LATTICE_TRY(const std::size_t head_dim, HeadDim(config, bert.info.hidden, n_heads));
  bert.heads = {n_heads, n_heads, head_dim};
  LATTICE_TRY(bert.ffn_hidden, ReadSize(config, "intermediate_size", kMaxFfnHidden));
  LATTICE_TRY(bert.norm_eps, ReadEpsilon(config, "norm_eps"));
  LATTICE_TRY(bert.activation, ReadActivation(config, "hidden_activation"));
  LATTICE_TRY(bert.local, ReadLocalLayers(config, bert.info.n_layers));
  LATTICE_TRY(const std::size_t across, ReadSize(config, "local_attention", kMaxPositions));
  if (across < 2) {
    return Error{ErrorCode::kCorruptData,
                 config.where() + "local_attention: 1 leaves no neighbours"};
  }
  bert.window = static_cast<std::uint32_t>(across / 2);
  LATTICE_TRY_VOID(ReadRopes(config, bert));
  if (name.ends_with("ForSequenceClassification")) LATTICE_TRY_VOID(ReadHead(config, bert));
  return bert;
}

struct ModernBertLayer {
  std::unique_ptr<kernels::Vector> attention_norm;  ///< Null in the first layer.
  AttentionWeights attention;
  std::unique_ptr<kernels::LinearWeights> attention_out, ffn_in, ffn_out;
  std::unique_ptr<kernels::Vector> ffn_norm;
  AttentionKind kind;
};

class ModernBert final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source,
                                                   ModernBertConfig config);

  const ModelInfo& info() const override { return config_.info; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Classify(const Batch& batch, Workspace& workspace) const override;

 private:
  ModernBert(const ModelSource& source, ModernBertConfig config)
      : config_(std::move(config)), checkpoint_(source.checkpoint), backend_(*source.backend) {}
  AttentionKind Kind(std::size_t layer, kernels::Precision precision) const;
  Result<ModernBertLayer> BindLayer(const Binder& binder, std::size_t i) const;
  Status BindHead(const Binder& binder);

  void FeedForward(const ModernBertLayer& layer, Buffer& x, Workspace& workspace) const;
  Buffer& RunLayer(const ModernBertLayer& layer, const RowPlan& plan, bool wanted_only, Buffer& x,
                   Workspace& workspace) const;
  const Buffer& NormedInput(const ModernBertLayer& layer, const Buffer& x,
                            Workspace& workspace) const;
  void Norm(const Buffer& x, const kernels::Vector& gain, Buffer& out) const {
    backend_.LayerNorm(x, nullptr, gain, nullptr, config_.norm_eps, out);
  }

  ModernBertConfig config_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // the table views it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_;
  std::unique_ptr<kernels::Vector> embedding_norm_, final_norm_;
  std::vector<ModernBertLayer> layers_;
  ClassificationHead head_;
};

AttentionKind ModernBert::Kind(std::size_t layer, kernels::Precision precision) const {
  const bool local = config_.local[layer];
  return {.heads = config_.heads,
          .scale = 1.0f / std::sqrt(static_cast<float>(config_.heads.head_dim)),
          .window = local ? config_.window : 0,
          .rope = local ? &config_.local_rope : &config_.global_rope,
          .precision = precision};
}

/// The one matrix of queries, keys and values, cut for the last layer.
Result<AttentionWeights> BindQkv(const Binder& binder, const std::string& name, std::size_t hidden,
                                 bool last_layer) {
  AttentionWeights weights;
  if (last_layer) {
    LATTICE_TRY(weights.q, binder.LinearRows(name, 3 * hidden, hidden, 0, hidden));
    LATTICE_TRY(weights.kv, binder.LinearRows(name, 3 * hidden, hidden, hidden, 2 * hidden));
  } else {
    LATTICE_TRY(weights.qkv, binder.LinearRows(name, 3 * hidden, hidden, 0, 3 * hidden));
  }
  return weights;
}

Result<ModernBertLayer> ModernBert::BindLayer(const Binder& binder, std::size_t i) const {
  const std::size_t hidden = config_.info.hidden, ffn = config_.ffn_hidden;
  const std::string at = "layers." + std::to_string(i) + ".";
  ModernBertLayer layer;
  if (i > 0) {
    LATTICE_TRY(layer.attention_norm, binder.Vector(at + "attn_norm.weight", hidden));
  }
  LATTICE_TRY(layer.attention,
              BindQkv(binder, at + "attn.Wqkv.weight", hidden, i + 1 == config_.info.n_layers));
  LATTICE_TRY(layer.attention_out, binder.Linear({{at + "attn.Wo", hidden}}, hidden, Bias::kNone));
  LATTICE_TRY(layer.ffn_norm, binder.Vector(at + "mlp_norm.weight", hidden));
  LATTICE_TRY(layer.ffn_in, binder.Linear({{at + "mlp.Wi", 2 * ffn}}, hidden, Bias::kNone));
  LATTICE_TRY(layer.ffn_out, binder.Linear({{at + "mlp.Wo", hidden}}, ffn, Bias::kNone));
  return layer;
}

Status ModernBert::BindHead(const Binder& binder) {
  const std::size_t hidden = config_.info.hidden;
  const Binder top = binder.WithoutPrefix().InFullPrecision();
  head_.activation = config_.head_activation;
  head_.norm_eps = config_.norm_eps;
  LATTICE_TRY(head_.dense, top.Linear({{"head.dense", hidden}}, hidden, Bias::kNone));
  LATTICE_TRY(head_.norm, top.Vector("head.norm.weight", hidden));
  LATTICE_TRY(head_.classifier,
              top.Linear({{"classifier", config_.info.n_labels}}, hidden, Bias::kRequired));
  return Ok();
}

Result<std::shared_ptr<const Model>> ModernBert::Bind(const ModelSource& source,
                                                      ModernBertConfig config) {
  std::shared_ptr<ModernBert> model(new ModernBert(source, std::move(config)));
  const std::size_t hidden = model->config_.info.hidden;
  constexpr std::string_view kWords = "embeddings.tok_embeddings.weight";
  LATTICE_TRY(const Binder binder, Binder::Make(source, kPrefixes, kWords));
  LATTICE_TRY(model->words_, binder.Table(kWords, model->config_.info.vocab, hidden));
  LATTICE_TRY(model->embedding_norm_, binder.Vector("embeddings.norm.weight", hidden));
  LATTICE_TRY(model->final_norm_, binder.Vector("final_norm.weight", hidden));
  for (std::size_t i = 0; i < model->config_.info.n_layers; ++i) {
    LATTICE_TRY(ModernBertLayer layer, model->BindLayer(binder, i));
    layer.kind = model->Kind(i, source.precision);
    model->layers_.push_back(std::move(layer));
  }
  if (model->config_.info.n_labels > 0) LATTICE_TRY_VOID(model->BindHead(binder));
  return std::shared_ptr<const Model>(std::move(model));
}

/// The first layer reads the embedding as it is: that has just been normalised.
const Buffer& ModernBert::NormedInput(const ModernBertLayer& layer, const Buffer& x,
                                      Workspace& workspace) const {
  if (layer.attention_norm == nullptr) return x;
  Buffer& normed = workspace[kNormed];
  Norm(x, *layer.attention_norm, normed);
  return normed;
}

void ModernBert::FeedForward(const ModernBertLayer& layer, Buffer& x, Workspace& workspace) const {
  Buffer& normed = workspace[kNormed];
  Buffer& ffn = workspace[kFfn];
  Buffer& gated = workspace[kGated];
  Norm(x, *layer.ffn_norm, normed);
  backend_.Linear(normed, *layer.ffn_in, {}, ffn);
  backend_.Gate(ffn, config_.activation, kernels::GateHalf::kFirst, gated);
  backend_.Linear(gated, *layer.ffn_out, {.residual = &x}, x);
}

Buffer& ModernBert::RunLayer(const ModernBertLayer& layer, const RowPlan& plan, bool wanted_only,
                             Buffer& x, Workspace& workspace) const {
  const Buffer& normed = NormedInput(layer, x, workspace);
  const QueryRows query = SelectQueries(backend_, plan, wanted_only, x, normed, workspace);
  Buffer& context = workspace[kContext];
  SelfAttention(backend_, layer.attention, layer.kind, {plan.all, query.rows}, normed, query.normed,
                workspace, context);
  backend_.Linear(context, *layer.attention_out, {.residual = &query.states}, query.states);
  FeedForward(layer, query.states, workspace);
  return query.states;
}

const Buffer& ModernBert::Forward(const Batch& batch, Workspace& workspace,
                                  const HiddenTap* tap) const {
  RowPlan& plan = workspace.plan();
  PlanRows(batch, config_.info, plan);
  Buffer* x = &workspace[kStates];
  const std::array<kernels::Lookup, 1> words = {{{words_.get(), batch.ids}}};
  backend_.Embed(words, 1.0f, *x);
  Norm(*x, *embedding_norm_, *x);
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

const Buffer& ModernBert::Classify(const Batch& batch, Workspace& workspace) const {
  LATTICE_CHECK(!head_.empty());
  const Buffer& pooled = PooledRows(*this, backend_, config_.pooling, batch, workspace);
  return head_.Score(backend_, pooled, workspace);
}

}  // namespace

Result<ModelDescription> DescribeModernBert(const JsonView& config) {
  LATTICE_TRY(ModernBertConfig bert, ReadConfig(config));
  return ModelDescription{.info = std::move(bert.info), .state = {}, .row_floats = 0};
}

Result<std::shared_ptr<const Model>> LoadModernBert(const ModelSource& source) {
  LATTICE_TRY(ModernBertConfig config, ReadConfig(source.config));
  return ModernBert::Bind(source, std::move(config));
}

}  // namespace lattice::models
