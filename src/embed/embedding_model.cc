#include "embed/embedding_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/checked_math.h"
#include "embed/pooling.h"
#include "weights/checkpoint.h"

namespace lattice::embed {
namespace {

// Fewer values than this are pooled sooner than a second thread wakes up.
constexpr std::size_t kParallelPoolValues = std::size_t{1} << 17;

// A tensor of a dense layer's file, as [rows, cols]; a vector has one row and one dimension.
Result<kernels::HostTensor> DenseTensor(const weights::Checkpoint& checkpoint,
                                        const std::filesystem::path& file, const char* name,
                                        std::size_t rows, std::size_t cols) {
  std::vector<std::size_t> shape = {rows, cols};
  if (std::string_view(name).ends_with(".bias")) shape = {cols};
  auto tensor = checkpoint.Get(name, shape);
  if (!tensor) return std::move(tensor).error().Within(file.string());
  if (!IsWeight(tensor->dtype)) {
    return Error{ErrorCode::kUnsupported,
                 file.string() + ": '" + name + "' is " + std::string(DtypeName(tensor->dtype))};
  }
  return kernels::HostTensor{tensor->dtype, rows, cols, tensor->bytes};
}

Result<std::unique_ptr<kernels::LinearWeights>> LoadDense(const DenseSpec& spec,
                                                          kernels::Backend& backend) {
  const auto path = spec.folder / "model.safetensors";
  LATTICE_TRY(const std::shared_ptr<const weights::Checkpoint> file,
              weights::Checkpoint::Open(path));
  LATTICE_TRY(const kernels::HostTensor weight,
              DenseTensor(*file, path, "linear.weight", spec.out_features, spec.in_features));
  std::vector<kernels::HostTensor> biases;
  if (spec.bias) {
    LATTICE_TRY(const kernels::HostTensor bias,
                DenseTensor(*file, path, "linear.bias", 1, spec.out_features));
    biases.push_back(bias);
  }
  // Small and last: always exact, whatever the transformer's precision.
  return backend.MakeLinear(std::span(&weight, 1), biases, kernels::Precision::kF32);
}

Error NotFinite(std::size_t text, const std::string& name, const char* what) {
  return Error{ErrorCode::kCorruptData, "text " + std::to_string(text) + ": " + name + " gives a " +
                                            what + " that is not finite"};
}

}  // namespace

Result<std::shared_ptr<EmbeddingModel>> EmbeddingModel::Make(
    PipelineConfig config, std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
    std::shared_ptr<const models::Model> model, ScoreActivation activation, EmbeddingModelInfo info,
    const Engine& engine) {
  const std::size_t hidden = model->info().hidden;
  if (config.pooling.hidden != 0 && config.pooling.hidden != hidden) {
    return Error{ErrorCode::kCorruptData, info.name + ": the pooling is for vectors of " +
                                              std::to_string(config.pooling.hidden) +
                                              ", the model has " + std::to_string(hidden)};
  }
  info.architecture = model->info().architecture;
  info.max_tokens = model->info().max_tokens;
  if (config.max_tokens != 0) info.max_tokens = std::min(info.max_tokens, config.max_tokens);
  info.pooling = config.pooling.modes.front();
  info.query_prompt = config.prompts.ForRole(Role::kQuery);
  info.passage_prompt = config.prompts.ForRole(Role::kPassage);
  info.similarity = config.prompts.similarity;
  LATTICE_TRY(TextEncoder encoder, TextEncoder::Make(tokenizer, {info.max_tokens, config.lower_case,
                                                                 config.append_token}));
  std::shared_ptr<EmbeddingModel> made(new EmbeddingModel(
      std::move(config), std::move(encoder), std::move(model), std::move(info), engine));
  LATTICE_TRY_VOID(made->BindSteps());
  made->BindReranker(std::move(tokenizer), activation);
  return made;
}

EmbeddingModel::EmbeddingModel(PipelineConfig config, TextEncoder encoder,
                               std::shared_ptr<const models::Model> model, EmbeddingModelInfo info,
                               const Engine& engine)
    : config_(std::move(config)),
      encoder_(std::move(encoder)),
      model_(std::move(model)),
      info_(std::move(info)),
      engine_(engine),
      reranker_(Error{ErrorCode::kUnsupported, ""}),
      workspace_(*engine.backend),
      step_in_(engine.backend->MakeBuffer()),
      step_out_(engine.backend->MakeBuffer()) {
  if (engine_.max_batch_tokens == 0) engine_.max_batch_tokens = kDefaultBatchTokens;
}

// Proves that the steps fit each other and makes their weights.
Status EmbeddingModel::BindSteps() {
  info_.normalize = false;
  if (!config_.steps.empty() && std::holds_alternative<NormalizeSpec>(config_.steps.back())) {
    info_.normalize = true;  // Done after the cut, once for all.
    config_.steps.pop_back();
  }
  pooled_ = model_->info().hidden * config_.pooling.modes.size();
  std::size_t width = pooled_;
  for (const PipelineStep& step : config_.steps) {
    Step& bound = steps_.emplace_back();
    const auto* dense = std::get_if<DenseSpec>(&step);
    if (dense == nullptr) continue;
    if (dense->in_features != width) {
      return Error{ErrorCode::kCorruptData, dense->folder.string() + ": reads vectors of " +
                                                std::to_string(dense->in_features) +
                                                ", the step before gives " + std::to_string(width)};
    }
    LATTICE_TRY(bound.weights, LoadDense(*dense, *engine_.backend));
    bound.activation = dense->activation;
    width = dense->out_features;
  }
  info_.dimensions = width;
  return Ok();
}

void EmbeddingModel::BindReranker(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                  ScoreActivation activation) {
  // An embedding model may be a decoder with a language head: what it scores would mean nothing.
  const bool embeds = (config_.from_files && !config_.is_reranker) || !config_.append_token.empty();
  if (embeds && model_->info().n_labels == 0) {
    reranker_ = Error{ErrorCode::kUnsupported, info_.name + " is an embedding model, no reranker"};
    return;
  }
  reranker_ = Reranker::Make(std::move(tokenizer), model_, activation, info_.max_tokens);
  if (!reranker_) reranker_ = std::move(reranker_).error().Within(info_.name);
}

Result<EmbeddingModel::Plan> EmbeddingModel::PlanFor(const EmbedRequest& request) const {
  if (config_.is_reranker) {
    return Error{ErrorCode::kUnsupported, info_.name + " is a reranker, it gives no vectors"};
  }
  Plan plan;
  plan.modes = config_.pooling.modes;
  if (request.pooling) plan.modes = {*request.pooling};
  const std::size_t pooled = model_->info().hidden * plan.modes.size();
  if (!steps_.empty() && pooled != pooled_) {
    return Error{ErrorCode::kInvalidArgument,
                 info_.name + ": its dense layers need the pooling that its files state"};
  }
  plan.dimensions = steps_.empty() ? pooled : info_.dimensions;
  if (request.dimensions > plan.dimensions) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(request.dimensions) +
                                                  " dimensions asked for, " + info_.name + " has " +
                                                  std::to_string(plan.dimensions)};
  }
  if (request.dimensions != 0) plan.dimensions = request.dimensions;
  plan.normalize = request.normalize.value_or(info_.normalize);
  plan.prompt =
      request.prompt ? std::string_view(*request.prompt) : config_.prompts.ForRole(request.role);
  if (!config_.pooling.include_prompt && !plan.prompt.empty()) {
    LATTICE_TRY(plan.n_skip, encoder_.PromptTokens(plan.prompt, request.special_as_text));
  }
  return plan;
}

BatchingOptions EmbeddingModel::BatchingFor(std::size_t n_texts,
                                            const std::stop_token& stop) const {
  BatchingOptions options;
  options.n_texts = n_texts;
  options.max_batch_tokens = engine_.max_batch_tokens;
  options.vocab = model_->info().vocab;
  options.stop = stop;
  return options;
}

Result<Embeddings> EmbeddingModel::Embed(std::span<const std::string> texts,
                                         const EmbedRequest& request) {
  LATTICE_TRY(const Plan plan, PlanFor(request));
  Embeddings result;
  result.dimensions = plan.dimensions;
  const auto n_values = CheckedMul(texts.size(), plan.dimensions);
  if (!n_values) return Error{ErrorCode::kResourceExhausted, "too many texts"};
  result.values.resize(*n_values);  // A text without any token keeps its zeros.
  result.usage.resize(texts.size());
  BatchingOptions options = BatchingFor(texts.size(), request.stop);
  options.progress = &request.progress;
  LATTICE_TRY_VOID(ForEachTextBatch(
      options, *engine_.pool, [&](std::size_t i) { return texts[i].size(); },
      [&](std::size_t i) {
        return encoder_.Encode(plan.prompt, texts[i], request.special_as_text);
      },
      [&](const TextBatch& batch) { return EmbedBatch(batch, plan, result.values); },
      result.usage));
  return result;
}

Status EmbeddingModel::EmbedBatch(const TextBatch& batch, const Plan& plan,
                                  std::span<float> values) {
  const std::scoped_lock lock(lock_);
  const std::size_t n_texts = batch.texts.size();
  Pool(batch, plan);
  RunSteps(n_texts);
  const std::size_t width = vectors_.size() / n_texts;
  for (std::size_t i = 0; i < n_texts; ++i) {
    const std::span<const float> vector = std::span(vectors_).subspan(i * width, width);
    if (!AllFinite(vector)) return NotFinite(batch.texts[i], info_.name, "vector");
    const std::span<float> out = values.subspan(batch.texts[i] * plan.dimensions, plan.dimensions);
    std::copy_n(vector.begin(), plan.dimensions, out.begin());
    if (plan.normalize) NormalizeRow(out);
  }
  return Ok();
}

// Runs the transformer and fills vectors_ [n_texts, pooled].
void EmbeddingModel::Pool(const TextBatch& batch, const Plan& plan) {
  const std::size_t hidden = model_->info().hidden;
  const std::size_t n_texts = batch.texts.size();
  const bool one_row =
      plan.modes.size() == 1 && (plan.modes[0] == Pooling::kCls || plan.modes[0] == Pooling::kLast);
  models::Batch rows = batch.rows;
  std::vector<std::uint32_t> wanted;
  if (one_row) {
    wanted.reserve(n_texts);
    for (const models::SequenceRows& text : rows.sequences) {
      const std::size_t n = text.end - text.begin;
      wanted.push_back(text.begin +
                       static_cast<std::uint32_t>(OnlyRow(plan.modes[0], n, plan.n_skip)));
    }
    rows.output_rows = wanted;
  }
  const kernels::Buffer& output = model_->Forward(rows, workspace_);
  hidden_.resize(output.rows() * hidden);
  engine_.backend->Read(output, hidden_);
  const std::size_t width = hidden * plan.modes.size();
  vectors_.resize(n_texts * width);
  const auto pool_text = [&](std::size_t i) {
    const models::SequenceRows text = rows.sequences[i];
    // A prompt that covers the whole text leaves nothing, which PoolRows sees by n_skip.
    const bool nothing_left = plan.n_skip >= text.end - text.begin;
    const auto states =
        one_row ? std::span(hidden_).subspan(i * hidden, hidden)
                : std::span(hidden_).subspan(text.begin * hidden, (text.end - text.begin) * hidden);
    const std::size_t n_skip = one_row ? (nothing_left ? 1 : 0) : plan.n_skip;
    for (std::size_t m = 0; m < plan.modes.size(); ++m) {
      PoolRows(states, hidden, plan.modes[m], n_skip,
               std::span(vectors_).subspan(i * width + m * hidden, hidden));
    }
  };
  if (hidden_.size() < kParallelPoolValues) {
    for (std::size_t i = 0; i < n_texts; ++i) pool_text(i);
  } else {
    engine_.pool->ParallelEach(n_texts, pool_text);
  }
}

// Dense layers and inner normalisations, on vectors_ in place.
void EmbeddingModel::RunSteps(std::size_t n_texts) {
  for (const Step& step : steps_) {
    const std::size_t width = vectors_.size() / n_texts;
    if (step.weights == nullptr) {
      for (std::size_t i = 0; i < n_texts; ++i) {
        NormalizeRow(std::span(vectors_).subspan(i * width, width));
      }
      continue;
    }
    engine_.backend->Write(vectors_, n_texts, width, *step_in_);
    engine_.backend->Linear(*step_in_, *step.weights, {.activation = step.activation}, *step_out_);
    vectors_.resize(n_texts * step.weights->outputs());
    engine_.backend->Read(*step_out_, vectors_);
  }
}

Result<std::vector<RerankScore>> EmbeddingModel::Rerank(std::span<const std::string> documents,
                                                        const RerankRequest& request) {
  if (!reranker_) return reranker_.error();
  std::vector<float> logits(documents.size());
  std::vector<TextUsage> usage(documents.size());
  LATTICE_TRY_VOID(ForEachTextBatch(
      BatchingFor(documents.size(), request.stop), *engine_.pool,
      [&](std::size_t i) { return documents[i].size() + request.query.size(); },
      [&](std::size_t i) { return reranker_->Encode(request, documents[i]); },
      [&](const TextBatch& batch) -> Status {
        const std::scoped_lock lock(lock_);
        vectors_.resize(batch.texts.size());
        reranker_->Score(batch, workspace_, *engine_.backend, vectors_);
        for (std::size_t i = 0; i < batch.texts.size(); ++i) {
          if (!std::isfinite(vectors_[i])) return NotFinite(batch.texts[i], info_.name, "score");
          logits[batch.texts[i]] = vectors_[i];
        }
        return Ok();
      },
      usage));
  std::vector<RerankScore> scores;
  scores.reserve(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    scores.push_back({reranker_->Activate(logits[i]), logits[i], usage[i]});
  }
  return scores;
}

}  // namespace lattice::embed
