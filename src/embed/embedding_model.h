#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "embed/fair_lock.h"
#include "embed/pipeline_config.h"
#include "embed/reranker.h"
#include "embed/text_encoder.h"
#include "kernels/api/backend.h"
#include "lattice/embedding.h"
#include "lattice/result.h"
#include "models/model.h"
#include "tokenizers/tokenizer.h"

namespace lattice::embed {

/// What computes. Both outlive every model.
struct Engine {
  kernels::Backend* backend = nullptr;
  ThreadPool* pool = nullptr;
  kernels::Precision precision = kernels::Precision::kF32;
  std::size_t max_batch_tokens = 0;  ///< 0 = kDefaultBatchTokens.
  LogSink log = {};                  ///< Of what a load leaves out.
};

inline constexpr std::size_t kDefaultBatchTokens = 512;

/// A model on this machine.
struct ModelSource {
  std::string name;  ///< As the caller knows it.
  std::filesystem::path folder;
  std::string hub_id;    ///< Empty for a plain folder.
  std::string revision;  ///< Empty for a plain folder: a digest of its files is used.
};

/// One loaded model: tokenizer, transformer, pooling and what follows. Any number of threads may
/// use it; batches of different calls take turns, in the order of asking.
class EmbeddingModel {
 public:
  static Result<std::shared_ptr<EmbeddingModel>> Load(const ModelSource& source,
                                                      const Engine& engine);
  /// From parts that are loaded already. Of `info` it needs name, revision, folder, n_parameters.
  static Result<std::shared_ptr<EmbeddingModel>> Make(
      PipelineConfig config, std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
      std::shared_ptr<const models::Model> model, ScoreActivation activation,
      EmbeddingModelInfo info, const Engine& engine);

  const EmbeddingModelInfo& info() const { return info_; }
  const tokenizers::Tokenizer& tokenizer() const { return encoder_.tokenizer(); }
  /// Why Rerank cannot score pairs, if it cannot.
  Status CanRerank() const {
    if (!reranker_) return reranker_.error();
    return Ok();
  }

  /// See EmbeddingService::Embed; request.model is not looked at.
  Result<Embeddings> Embed(std::span<const std::string> texts, const EmbedRequest& request);
  /// See EmbeddingService::Rerank.
  Result<std::vector<RerankScore>> Rerank(std::span<const std::string> documents,
                                          const RerankRequest& request);

 private:
  // A step after the pooling, ready to run: a dense layer, or without weights a normalise.
  struct Step {
    std::unique_ptr<kernels::LinearWeights> weights;
    kernels::Activation activation = kernels::Activation::kNone;
  };
  // What one request makes of the pipeline.
  struct Plan {
    std::vector<Pooling> modes;
    std::size_t dimensions = 0;
    bool normalize = false;   // at the end
    std::string_view prompt;  // borrowed from the request or the model
    std::size_t n_skip = 0;   // rows of the prompt that do not count
  };

  EmbeddingModel(PipelineConfig config, TextEncoder encoder,
                 std::shared_ptr<const models::Model> model, EmbeddingModelInfo info,
                 const Engine& engine);
  Status BindSteps();
  void BindReranker(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                    ScoreActivation activation);
  Result<Plan> PlanFor(const EmbedRequest& request) const;
  BatchingOptions BatchingFor(std::size_t n_texts, const std::stop_token& stop) const;
  Status EmbedBatch(const TextBatch& batch, const Plan& plan, std::span<float> values);
  void Pool(const TextBatch& batch, const Plan& plan);
  void RunSteps(std::size_t n_texts);

  PipelineConfig config_;
  TextEncoder encoder_;
  std::shared_ptr<const models::Model> model_;
  EmbeddingModelInfo info_;
  Engine engine_;
  std::size_t pooled_ = 0;     // width after the pooling, before the steps
  std::vector<Step> steps_;    // without a normalise at the end
  Result<Reranker> reranker_;  // or why there is none

  FairLock lock_;  // held for one batch; guards what follows
  models::Workspace workspace_;
  std::unique_ptr<kernels::Buffer> step_in_, step_out_;
  std::vector<float> hidden_;   // rows read back from the model
  std::vector<float> vectors_;  // [texts of the batch, width]
};

}  // namespace lattice::embed
