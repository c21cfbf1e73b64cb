// BERT and its kin with learned positions: RoBERTa, XLM-RoBERTa, CamemBERT. Post-norm encoders.
// Source: Devlin et al. 2018, "BERT"; Liu et al. 2019, "RoBERTa".
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "models/attention.h"
#include "models/classification_head.h"
#include "models/config.h"
#include "models/families.h"

namespace lattice::models {
namespace {

using kernels::Activation;
using kernels::Backend;
using kernels::Buffer;

constexpr std::string_view kPrefixes[] = {"",           "bert.", "roberta.", "xlm-roberta.",
                                          "camembert.", "model."};
constexpr std::string_view kBertClasses[] = {"BertModel", "BertForMaskedLM", "BertForPreTraining",
                                             "BertForSequenceClassification"};
constexpr std::string_view kRobertaClasses[] = {
    "RobertaModel",    "RobertaForMaskedLM",    "RobertaForSequenceClassification",
    "XLMRobertaModel", "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification",
    "CamembertModel",  "CamembertForMaskedLM",  "CamembertForSequenceClassification"};

struct BertConfig {
  ModelInfo info;
  HeadShape heads;
  std::size_t ffn_hidden = 0;
  std::size_t n_positions = 0;
  std::size_t n_types = 0;
  float norm_eps = 0.0f;
  Activation activation = Activation::kNone;
  bool roberta = false;           ///< Positions and head of that branch.
  std::optional<TokenId> pad_id;  ///< RoBERTa: positions are counted from here.
};

/// RoBERTa's first pad_id + 1 positions are never those of a token.
Status ReadPositions(const JsonView& config, BertConfig& bert) {
  LATTICE_TRY(bert.n_positions, ReadSize(config, "max_position_embeddings", kMaxPositions));
  bert.info.max_tokens = bert.n_positions;
  if (!bert.roberta) return Ok();
  LATTICE_TRY(const JsonView pad, config.Get("pad_token_id"));
  LATTICE_TRY(const std::int64_t id, pad.Int(0, static_cast<std::int64_t>(bert.info.vocab) - 1));
  if (static_cast<std::size_t>(id) + 1 >= bert.n_positions) {
    return Error{ErrorCode::kCorruptData,
                 pad.where() + ": " + std::to_string(id) + " leaves none of " +
                     std::to_string(bert.n_positions) + " max_position_embeddings to a token"};
  }
  bert.pad_id = static_cast<TokenId>(id);
  bert.info.max_tokens = bert.n_positions - static_cast<std::size_t>(id) - 1;
  return Ok();
}

Status RefuseVariants(const JsonView& config) {
  LATTICE_TRY_VOID(RefuseQuantised(config));
  LATTICE_TRY_VOID(RefuseFlag(config, "is_decoder"));
  LATTICE_TRY(const std::string kind, config.StringOr("position_embedding_type", "absolute"));
  if (kind == "absolute") return Ok();
  return Error{ErrorCode::kUnsupported,
               config.where() + "position_embedding_type: unknown '" + kind + "'; known: absolute"};
}

Result<BertConfig> ReadConfig(const JsonView& config) {
  BertConfig bert;
  LATTICE_TRY_VOID(RefuseVariants(config));
  LATTICE_TRY(bert.info.architecture, config.StringOr("model_type", ""));
  bert.roberta = bert.info.architecture != "bert";
  using Classes = std::span<const std::string_view>;
  LATTICE_TRY(
      const std::string name,
      ReadArchitecture(config, bert.roberta ? Classes(kRobertaClasses) : Classes(kBertClasses)));
  LATTICE_TRY(bert.info.vocab, ReadSize(config, "vocab_size", kMaxVocab));
  LATTICE_TRY(bert.info.hidden, ReadSize(config, "hidden_size", kMaxHidden));
  LATTICE_TRY(bert.info.n_layers, ReadSize(config, "num_hidden_layers", kMaxLayers));
  LATTICE_TRY(const std::size_t n_heads, ReadSize(config, "num_attention_heads", kMaxHeads));
  LATTICE_TRY(const std::size_t head_dim, HeadDim(config, bert.info.hidden, n_heads));
  bert.heads = {n_heads, n_heads, head_dim};
  LATTICE_TRY(bert.ffn_hidden, ReadSize(config, "intermediate_size", kMaxFfnHidden));
  LATTICE_TRY(bert.n_types, ReadSize(config, "type_vocab_size", kMaxTypes));
  LATTICE_TRY(bert.norm_eps, ReadEpsilon(config, "layer_norm_eps"));
  LATTICE_TRY(bert.activation, ReadActivation(config, "hidden_act"));
  LATTICE_TRY_VOID(ReadPositions(config, bert));
  if (name.ends_with("ForSequenceClassification")) {
    LATTICE_TRY(bert.info.n_labels, CountLabels(config));
  }
  return bert;
}

struct LayerNormWeights {
  std::unique_ptr<kernels::Vector> gain, bias;
};

struct BertLayer {
  AttentionWeights attention;
  std::unique_ptr<kernels::LinearWeights> attention_out, ffn_in, ffn_out;
  LayerNormWeights attention_norm, ffn_norm;
};

class Bert final : public Model {
 public:
  static Result<std::shared_ptr<const Model>> Bind(const ModelSource& source, BertConfig config);

  const ModelInfo& info() const override { return config_.info; }
  const Buffer& Forward(const Batch& batch, Workspace& workspace,
                        const HiddenTap* tap) const override;
  const Buffer& Classify(const Batch& batch, Workspace& workspace) const override;

 private:
  Bert(const ModelSource& source, BertConfig config)
      : config_(std::move(config)), checkpoint_(source.checkpoint), backend_(*source.backend) {}
  Status BindEmbedding(const Binder& binder);
  Status BindLayers(const Binder& binder);
  Status BindHead(const Binder& binder);

  void Embed(const Batch& batch, RowPlan& plan, Buffer& x) const;
  Buffer& RunLayer(const BertLayer& layer, const RowPlan& plan, bool wanted_only, Buffer& x,
                   Workspace& workspace) const;
  void Norm(const LayerNormWeights& norm, Buffer& x) const {
    backend_.LayerNorm(x, nullptr, *norm.gain, norm.bias.get(), config_.norm_eps, x);
  }

  BertConfig config_;
  AttentionKind kind_;
  std::shared_ptr<const weights::Checkpoint> checkpoint_;  // the tables view it
  Backend& backend_;
  std::unique_ptr<kernels::Table> words_, positions_, types_;
  LayerNormWeights embedding_norm_;
  std::vector<BertLayer> layers_;
  ClassificationHead head_;
};

/// Conversions of the first releases call gain and bias gamma and beta.
Result<LayerNormWeights> BindNorm(const Binder& binder, const std::string& name, std::size_t n) {
  const bool old = !binder.Has(name + ".weight") && binder.Has(name + ".gamma");
  LayerNormWeights norm;
  LATTICE_TRY(norm.gain, binder.Vector(name + (old ? ".gamma" : ".weight"), n));
  LATTICE_TRY(norm.bias, binder.Vector(name + (old ? ".beta" : ".bias"), n));
  return norm;
}

Status Bert::BindEmbedding(const Binder& binder) {
  const std::size_t hidden = config_.info.hidden;
  LATTICE_TRY(words_,
              binder.Table("embeddings.word_embeddings.weight", config_.info.vocab, hidden));
  LATTICE_TRY(positions_,
              binder.Table("embeddings.position_embeddings.weight", config_.n_positions, hidden));
  LATTICE_TRY(types_,
              binder.Table("embeddings.token_type_embeddings.weight", config_.n_types, hidden));
  LATTICE_TRY(embedding_norm_, BindNorm(binder, "embeddings.LayerNorm", hidden));
  return Ok();
}

Status Bert::BindLayers(const Binder& binder) {
  const std::size_t hidden = config_.info.hidden, ffn = config_.ffn_hidden;
  for (std::size_t i = 0; i < config_.info.n_layers; ++i) {
    const std::string at = "encoder.layer." + std::to_string(i) + ".";
    const QkvNames names{at + "attention.self.query", at + "attention.self.key",
                         at + "attention.self.value"};
    BertLayer layer;
    LATTICE_TRY(layer.attention, BindAttention(binder, names, config_.heads, hidden,
                                               Bias::kRequired, i + 1 == config_.info.n_layers));
    LATTICE_TRY(layer.attention_out,
                binder.Linear({{at + "attention.output.dense", hidden}}, hidden, Bias::kRequired));
    LATTICE_TRY(layer.attention_norm, BindNorm(binder, at + "attention.output.LayerNorm", hidden));
    LATTICE_TRY(layer.ffn_in,
                binder.Linear({{at + "intermediate.dense", ffn}}, hidden, Bias::kRequired));
    LATTICE_TRY(layer.ffn_out,
                binder.Linear({{at + "output.dense", hidden}}, ffn, Bias::kRequired));
    LATTICE_TRY(layer.ffn_norm, BindNorm(binder, at + "output.LayerNorm", hidden));
    layers_.push_back(std::move(layer));
  }
  return Ok();
}

/// BERT scores its pooler's output, RoBERTa has the same two steps under names of its own.
Status Bert::BindHead(const Binder& binder) {
  const std::size_t hidden = config_.info.hidden, n_labels = config_.info.n_labels;
  const Binder body = binder.InFullPrecision(), top = body.WithoutPrefix();
  head_.activation = Activation::kTanh;
  if (config_.roberta) {
    LATTICE_TRY(head_.dense, top.Linear({{"classifier.dense", hidden}}, hidden, Bias::kRequired));
    LATTICE_TRY(head_.classifier,
                top.Linear({{"classifier.out_proj", n_labels}}, hidden, Bias::kRequired));
  } else {
    LATTICE_TRY(head_.dense, body.Linear({{"pooler.dense", hidden}}, hidden, Bias::kRequired));
    LATTICE_TRY(head_.classifier, top.Linear({{"classifier", n_labels}}, hidden, Bias::kRequired));
  }
  return Ok();
}

Result<std::shared_ptr<const Model>> Bert::Bind(const ModelSource& source, BertConfig config) {
  std::shared_ptr<Bert> model(new Bert(source, std::move(config)));
  const HeadShape& heads = model->config_.heads;
  model->kind_ = {.heads = heads,
                  .scale = 1.0f / std::sqrt(static_cast<float>(heads.head_dim)),
                  .precision = source.precision};
  LATTICE_TRY(const Binder binder,
              Binder::Make(source, kPrefixes, "embeddings.word_embeddings.weight"));
  LATTICE_TRY_VOID(model->BindEmbedding(binder));
  LATTICE_TRY_VOID(model->BindLayers(binder));
  if (model->config_.info.n_labels > 0) LATTICE_TRY_VOID(model->BindHead(binder));
  return std::shared_ptr<const Model>(std::move(model));
}

void Bert::Embed(const Batch& batch, RowPlan& plan, Buffer& x) const {
  PlanPositionRows(batch, config_.pad_id, plan);
  PlanTypeRows(batch, config_.n_types, plan);
  const std::array<kernels::Lookup, 3> terms = {{{words_.get(), batch.ids},
                                                 {types_.get(), plan.type_rows},
                                                 {positions_.get(), plan.position_rows}}};
  backend_.Embed(terms, 1.0f, x);
  Norm(embedding_norm_, x);
}

Buffer& Bert::RunLayer(const BertLayer& layer, const RowPlan& plan, bool wanted_only, Buffer& x,
                       Workspace& workspace) const {
  const QueryRows query = SelectQueries(backend_, plan, wanted_only, x, x, workspace);
  Buffer& states = query.states;
  Buffer& context = workspace[kContext];
  Buffer& ffn = workspace[kFfn];
  SelfAttention(backend_, layer.attention, kind_, {plan.all, query.rows}, x, states, workspace,
                context);
  backend_.Linear(context, *layer.attention_out, {.residual = &states}, states);
  Norm(layer.attention_norm, states);
  backend_.Linear(states, *layer.ffn_in, {.activation = config_.activation}, ffn);
  backend_.Linear(ffn, *layer.ffn_out, {.residual = &states}, states);
  Norm(layer.ffn_norm, states);
  return states;
}

const Buffer& Bert::Forward(const Batch& batch, Workspace& workspace, const HiddenTap* tap) const {
  RowPlan& plan = workspace.plan();
  PlanRows(batch, config_.info, plan);
  Buffer* x = &workspace[kStates];
  Embed(batch, plan, *x);
  if (tap != nullptr) (*tap)(0, *x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool wanted_only = tap == nullptr && plan.subset() && i + 1 == layers_.size();
    x = &RunLayer(layers_[i], plan, wanted_only, *x, workspace);
    if (tap != nullptr) (*tap)(i + 1, *x);
  }
  return tap == nullptr ? *x : WantedRows(backend_, plan, *x, workspace);
}

const Buffer& Bert::Classify(const Batch& batch, Workspace& workspace) const {
  LATTICE_CHECK(!head_.empty());
  const Buffer& first = PooledRows(*this, backend_, HeadPooling::kFirst, batch, workspace);
  return head_.Score(backend_, first, workspace);
}

}  // namespace

Result<ModelDescription> DescribeBert(const JsonView& config) {
  LATTICE_TRY(BertConfig bert, ReadConfig(config));
  return ModelDescription{.info = std::move(bert.info), .state = {}, .row_floats = 0};
}

Result<std::shared_ptr<const Model>> LoadBert(const ModelSource& source) {
  LATTICE_TRY(BertConfig config, ReadConfig(source.config));
  return Bert::Bind(source, std::move(config));
}

}  // namespace lattice::models
