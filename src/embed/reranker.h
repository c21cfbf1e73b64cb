#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/token_id.h"
#include "embed/text_batches.h"
#include "kernels/api/backend.h"
#include "lattice/embedding.h"
#include "lattice/result.h"
#include "models/model.h"
#include "tokenizers/tokenizer.h"

namespace lattice::embed {

/// What turns a logit into a score: config.json's sentence_transformers.activation_fn, or
/// sbert_ce_default_activation_function of older files; without either, the sigmoid.
enum class ScoreActivation { kIdentity, kSigmoid };

/// From the text of config.json. kUnsupported for another activation, with the known ones.
Result<ScoreActivation> ParseScoreActivation(std::string_view config, const std::string& where);

/// Scores (query, document) pairs with one of three kinds of model:
///   a cross-encoder with one label (BERT, XLM-R, ModernBERT): the tokenizer's pair template;
///   a decoder with one label (Qwen3ForSequenceClassification), or one with a language head
///   (Qwen3-Reranker, logit = "yes" - "no"): the reranker's chat prompt in three parts.
/// Source  the models' cards; sentence-transformers, CrossEncoder.
class Reranker {
 public:
  /// `max_tokens`: longest pair. kUnsupported when the model cannot score pairs.
  static Result<Reranker> Make(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                               std::shared_ptr<const models::Model> model,
                               ScoreActivation activation, std::size_t max_tokens);

  /// Ids of one pair, cut to max_tokens (and request.max_tokens, when that is not 0): the longer
  /// member first, or the end of the prompt's body. kInvalidArgument when nothing would be left.
  Result<tokenizers::Encoding> Encode(const RerankRequest& request,
                                      std::string_view document) const;

  /// Logits of a batch, logits.size() = batch.texts.size().
  void Score(const TextBatch& batch, models::Workspace& workspace, kernels::Backend& backend,
             std::span<float> logits) const;

  float Activate(float logit) const;

 private:
  Reranker() = default;
  Status TokenizePrompt();

  std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
  std::shared_ptr<const models::Model> model_;
  ScoreActivation activation_ = ScoreActivation::kSigmoid;
  std::size_t max_tokens_ = 0;
  bool decoder_ = false;
  std::vector<TokenId> prefix_, suffix_;  // of a decoder's prompt
  std::vector<TokenId> yes_no_;           // empty when the model has a label
};

}  // namespace lattice::embed
