#include "embed/reranker.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/json.h"

namespace lattice::embed {
namespace {

using tokenizers::EncodeOptions;
using tokenizers::Encoding;

constexpr std::string_view kPrefix =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n";
constexpr std::string_view kSuffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
constexpr std::string_view kDefaultInstruction =
    "Given a web search query, retrieve relevant passages that answer the query";
// The length that the decoders' card uses; their positions would allow more.
constexpr std::size_t kDecoderMaxTokens = 8192;

}  // namespace

Result<ScoreActivation> ParseScoreActivation(std::string_view config, const std::string& where) {
  auto document = ParseJson(config);
  if (!document) return std::move(document).error().Within(where);
  const JsonView root(*document, where + ": ");
  auto named = root.Find("sbert_ce_default_activation_function");
  if (const auto newer = root.Find("sentence_transformers")) {
    if (auto activation = newer->Find("activation_fn")) named = std::move(activation);
  }
  if (!named) return ScoreActivation::kSigmoid;
  LATTICE_TRY(const std::string_view path, named->String());
  const std::string_view name = path.substr(path.rfind('.') + 1);
  if (name == "Identity") return ScoreActivation::kIdentity;
  if (name == "Sigmoid") return ScoreActivation::kSigmoid;
  return Error{ErrorCode::kUnsupported, named->where() + ": unknown activation '" +
                                            std::string(path.substr(0, 100)) +
                                            "'; known: Identity, Sigmoid"};
}

Result<Reranker> Reranker::Make(std::shared_ptr<const tokenizers::Tokenizer> tokenizer,
                                std::shared_ptr<const models::Model> model,
                                ScoreActivation activation, std::size_t max_tokens) {
  const models::ModelInfo& info = model->info();
  if (info.n_labels > 1) {
    return Error{ErrorCode::kUnsupported,
                 "a head of " + std::to_string(info.n_labels) + " labels gives no single score"};
  }
  if (info.n_labels == 0 && !info.has_lm_head) {
    return Error{ErrorCode::kUnsupported, "this model has no head that scores pairs"};
  }
  Reranker reranker;
  reranker.tokenizer_ = std::move(tokenizer);
  reranker.activation_ = activation;
  reranker.max_tokens_ = max_tokens;
  reranker.decoder_ = info.causal;
  if (info.causal) {
    reranker.max_tokens_ = std::min(max_tokens, kDecoderMaxTokens);
    LATTICE_TRY_VOID(reranker.TokenizePrompt());
  }
  if (info.n_labels == 0) {
    for (const char* word : {"yes", "no"}) {
      const auto id = reranker.tokenizer_->Find(word);
      if (!id || static_cast<std::size_t>(*id) >= info.vocab) {
        return Error{ErrorCode::kUnsupported,
                     std::string("the tokenizer has no token '") + word + "' to score with"};
      }
      reranker.yes_no_.push_back(*id);
    }
  }
  reranker.model_ = std::move(model);
  return reranker;
}

Status Reranker::TokenizePrompt() {
  EncodeOptions options;
  options.add_special_tokens = false;
  LATTICE_TRY(Encoding prefix, tokenizer_->Encode(kPrefix, options));
  LATTICE_TRY(Encoding suffix, tokenizer_->Encode(kSuffix, options));
  prefix_ = std::move(prefix.ids);
  suffix_ = std::move(suffix.ids);
  return Ok();
}

Result<Encoding> Reranker::Encode(const RerankRequest& request, std::string_view document) const {
  EncodeOptions options;
  options.max_tokens =
      request.max_tokens == 0 ? max_tokens_ : std::min(request.max_tokens, max_tokens_);
  if (!decoder_) return tokenizer_->EncodePair(request.query, document, options);

  const std::size_t n_prompt = prefix_.size() + suffix_.size();
  if (options.max_tokens <= n_prompt) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(options.max_tokens) +
                                                  " tokens leave no room beside the " +
                                                  std::to_string(n_prompt) + " of the prompt"};
  }
  options.max_tokens -= n_prompt;
  options.add_special_tokens = false;
  std::string body = "<Instruct>: ";
  body += request.instruction.empty() ? kDefaultInstruction : request.instruction;
  body.append("\n<Query>: ").append(request.query).append("\n<Document>: ").append(document);
  LATTICE_TRY(Encoding encoding, tokenizer_->Encode(body, options));
  encoding.ids.insert(encoding.ids.begin(), prefix_.begin(), prefix_.end());
  encoding.ids.insert(encoding.ids.end(), suffix_.begin(), suffix_.end());
  encoding.type_ids.assign(encoding.ids.size(), 0);
  encoding.n_tokens_untruncated += n_prompt;
  return encoding;
}

void Reranker::Score(const TextBatch& batch, models::Workspace& workspace,
                     kernels::Backend& backend, std::span<float> logits) const {
  if (yes_no_.empty()) {
    backend.Read(model_->Classify(batch.rows, workspace), logits);
    return;
  }
  std::vector<std::uint32_t> last;
  last.reserve(batch.rows.sequences.size());
  for (const models::SequenceRows& rows : batch.rows.sequences) last.push_back(rows.end - 1);
  models::Batch rows = batch.rows;
  rows.output_rows = last;
  const kernels::Buffer& hidden = model_->Forward(rows, workspace);
  std::vector<float> pairs(2 * logits.size());
  backend.Read(model_->Logits(hidden, yes_no_, workspace), pairs);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = pairs[2 * i] - pairs[2 * i + 1];
}

float Reranker::Activate(float logit) const {
  if (activation_ == ScoreActivation::kIdentity) return logit;
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
}

}  // namespace lattice::embed
