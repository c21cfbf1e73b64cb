#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/token_id.h"
#include "decoding/log_probabilities.h"
#include "decoding/sampler.h"
#include "decoding/text_stream.h"
#include "engine/generation.h"
#include "engine/text_model.h"
#include "engine/thinking_budget.h"
#include "lattice/result.h"

namespace lattice::engine {

/// Sees an answer as it comes; an error ends it.
using TokenSink = FunctionRef<Status(const GeneratedToken&)>;

/// kInvalidArgument for no tokens at all or one outside the model's vocabulary.
Status CheckPrompt(const TextModel& model, std::span<const TokenId> prompt);

/// One answer in the making: from logits to tokens to text, with its end and its times. Used by one
/// thread at a time.
///
///     answer.StartWork();
///     until answer.finish(): read the prompt, or what came since the last row, with the model;
///                            answer.Next(logits); answer.Show(sink);
///                            while answer.NextForced(): answer.Show(sink);
class Answer {
 public:
  /// `options` must outlive it. Errors as Sampler::Create and TextStream::Create.
  static Result<Answer> Begin(const TextModel& model, std::span<const TokenId> prompt,
                              const GenerationOptions& options);

  /// The prompt is about to be looked at: waiting is over. Only the first call counts.
  void StartWork();
  /// How many tokens of the prompt need not be read again.
  void SetCached(std::size_t n_tokens) { usage_.n_cached = n_tokens; }

  /// Draws the next token, or takes the one that a thinking limit wants. Ends the answer when a
  /// stop or its greatest length has come. Not after an end.
  ///
  /// logits  rows of the model's output for the last token, the vocabulary's at least.
  Status Next(std::span<const float> logits);
  /// Takes the next token as Next would, if it is certain without logits; else nothing happens.
  /// With log-probabilities none is, as these are the model's. Not after an end.
  Result<bool> NextForced();
  /// Ends the answer for a reason that is not in its tokens; no work need have been done.
  Status End(FinishReason reason);

  /// Gives `sink` what Next and End have brought since the last call.
  Status Show(TokenSink sink);

  /// The token that came last.
  TokenId last() const { return last_; }
  /// Absent while it goes on.
  std::optional<FinishReason> finish() const { return finish_; }
  std::optional<std::size_t> stop_string() const { return stream_.matched_string(); }
  const GenerationUsage& usage() const { return usage_; }

 private:
  using Clock = std::chrono::steady_clock;

  Answer(decoding::Sampler sampler, decoding::TextStream stream, std::size_t n_tokens,
         std::size_t n_prompt, const GenerationOptions& options);
  Result<TokenId> Draw(std::span<const float> logits);
  Status Take(TokenId id, std::span<const float> logits);
  Status Hold(TokenId id, std::span<const float> logits);

  decoding::Sampler sampler_;
  decoding::TextStream stream_;
  std::size_t n_tokens_;  // of the vocabulary
  const GenerationOptions* options_;
  std::vector<TokenId> stop_tokens_;  // that min_tokens keeps back
  std::vector<float> without_stops_;  // logits
  std::optional<ThinkingBudget> budget_;
  decoding::LogProbabilityReader reader_;

  TokenId last_ = -1;
  bool has_token_ = false;  // to be shown, with piece_ and log_probabilities_
  std::string piece_;
  std::string tail_;  // to be shown after it, without a token
  decoding::LogProbabilities log_probabilities_;
  std::optional<FinishReason> finish_;

  GenerationUsage usage_;
  Clock::time_point made_ = Clock::now();
  std::optional<Clock::time_point> work_began_, first_token_;
};

}  // namespace lattice::engine
