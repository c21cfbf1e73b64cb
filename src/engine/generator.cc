#include "engine/generator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "decoding/sampler.h"
#include "decoding/text_stream.h"
#include "engine/thinking_budget.h"

namespace lattice::engine {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double Rate(std::size_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

Error Cancelled() { return {ErrorCode::kCancelled, "stopped while reading the prompt"}; }

/// One answer in the making: from logits to tokens to text.
class Answer {
 public:
  static Result<Answer> Begin(const TextModel& model, std::span<const TokenId> prompt,
                              const GenerationOptions& options);

  /// Draws the next token from `logits`, or takes the one that a thinking limit wants. True when
  /// the answer has ended with it.
  Result<bool> Next(std::span<const float> logits, TokenSink sink);
  /// The answer has ended for another reason: shows what was held back.
  Status Finish(FinishReason reason, TokenSink sink);

  Generation& generation() { return generation_; }
  TokenId last() const { return last_; }

 private:
  Answer(decoding::Sampler sampler, decoding::TextStream stream, const GenerationOptions& options)
      : sampler_(std::move(sampler)), stream_(std::move(stream)), options_(options) {
    if (options.thinking) budget_.emplace(*options.thinking);
  }
  Status Show(TokenId id, std::string_view text, TokenSink sink);

  decoding::Sampler sampler_;
  decoding::TextStream stream_;
  const GenerationOptions& options_;
  std::optional<ThinkingBudget> budget_;
  decoding::LogProbabilityReader reader_;
  Generation generation_;
  std::string piece_;
  TokenId last_ = -1;
};

Result<Answer> Answer::Begin(const TextModel& model, std::span<const TokenId> prompt,
                             const GenerationOptions& options) {
  LATTICE_TRY(decoding::Sampler sampler,
              decoding::Sampler::Create(options.sampling, model.n_tokens(), model.tokenizer));
  sampler.AcceptPrompt(prompt);
  sampler.SetMask(options.mask);
  decoding::TextStreamOptions text;
  text.stop_strings = options.stop_strings;
  if (!options.ignore_stop_tokens) text.stop_tokens = model.defaults.stop_ids;
  text.skip_special_tokens = options.skip_special_tokens;
  text.shown_special = options.shown_special;
  LATTICE_TRY(decoding::TextStream stream, decoding::TextStream::Create(model.tokenizer, text));
  return Answer(std::move(sampler), std::move(stream), options);
}

Status Answer::Show(TokenId id, std::string_view text, TokenSink sink) {
  generation_.text += text;
  const bool with_numbers = id >= 0 && options_.n_top_log_probabilities.has_value();
  return sink({id, text, with_numbers ? &generation_.log_probabilities.back() : nullptr});
}

Result<bool> Answer::Next(std::span<const float> logits, TokenSink sink) {
  std::optional<TokenId> forced;
  if (budget_) forced = budget_->Forced();
  TokenId id = -1;
  if (forced) {
    id = *forced;
  } else {
    LATTICE_TRY(id, sampler_.Sample(logits));
  }
  last_ = id;
  ++generation_.usage.n_generated;
  LATTICE_TRY_VOID(sampler_.Accept(id));
  if (budget_) budget_->Accept(id);
  piece_.clear();
  LATTICE_TRY(const auto stop, stream_.Push(id, piece_));
  if (stop == decoding::TextStream::Stop::kToken) {
    generation_.finish = FinishReason::kStop;
    if (!piece_.empty()) LATTICE_TRY_VOID(Show(-1, piece_, sink));
    return true;
  }
  generation_.ids.push_back(id);
  if (options_.n_top_log_probabilities) {
    LATTICE_TRY_VOID(reader_.Read(logits, id, *options_.n_top_log_probabilities,
                                  generation_.log_probabilities.emplace_back()));
  }
  LATTICE_TRY_VOID(Show(id, piece_, sink));
  if (stop == decoding::TextStream::Stop::kString) {
    generation_.finish = FinishReason::kStop;
    return true;
  }
  return false;
}

Status Answer::Finish(FinishReason reason, TokenSink sink) {
  generation_.finish = reason;
  piece_.clear();
  LATTICE_TRY(const auto stop, stream_.Finish(piece_));
  if (stop == decoding::TextStream::Stop::kString) generation_.finish = FinishReason::kStop;
  return piece_.empty() ? Ok() : Show(-1, piece_, sink);
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  constexpr std::string_view kNames[] = {"stop", "length", "context", "cancelled"};
  return kNames[static_cast<std::size_t>(reason)];
}

double GenerationUsage::prompt_tokens_per_second() const {
  return Rate(n_prompt - n_cached, prompt_seconds);
}

double GenerationUsage::decode_tokens_per_second() const {
  return n_generated < 2 ? 0 : Rate(n_generated - 1, decode_seconds);
}

Generator::Generator(const TextModel& model, kernels::Backend& backend)
    : model_(model), backend_(backend), workspace_(backend) {}

Status Generator::CheckPrompt(std::span<const TokenId> prompt, const ContextCache& context) const {
  if (prompt.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt has no tokens"};
  for (const TokenId id : prompt) {
    if (id >= 0 && static_cast<std::size_t>(id) < model_.model->info().vocab) continue;
    return Error{ErrorCode::kInvalidArgument, "token " + std::to_string(id) +
                                                  " is outside the vocabulary of " +
                                                  std::to_string(model_.model->info().vocab)};
  }
  if (prompt.size() <= context.max_tokens()) return Ok();
  return Error{ErrorCode::kResourceExhausted, "the prompt has " + std::to_string(prompt.size()) +
                                                  " tokens, the context holds " +
                                                  std::to_string(context.max_tokens())};
}

Status Generator::Step(std::span<const TokenId> ids, bool wants_logits, ContextCache& context) {
  LATTICE_TRY(models::Sequence * sequence, context.Reserve(ids.size()));
  const models::SequenceRows rows{0, static_cast<std::uint32_t>(ids.size())};
  last_row_.assign(1, rows.end - 1);
  models::Sequence* const states[] = {sequence};
  const models::Batch batch{ids, {}, {&rows, 1}, last_row_, states};
  const kernels::Buffer& hidden = model_.model->Forward(batch, workspace_);
  context.Append(ids);
  if (!wants_logits) return Ok();
  const kernels::Buffer& logits = model_.model->Logits(hidden, {}, workspace_);
  logits_.resize(logits.cols());
  backend_.Read(logits, logits_);
  return Ok();
}

Status Generator::Read(std::span<const TokenId> ids, const GenerationOptions& options,
                       ContextCache& context) {
  const std::size_t chunk = std::max<std::size_t>(options.prompt_chunk, 1);
  for (std::size_t begin = 0; begin < ids.size(); begin += chunk) {
    if (options.stop.stop_requested()) return Cancelled();
    const std::size_t n = std::min(chunk, ids.size() - begin);
    LATTICE_TRY_VOID(Step(ids.subspan(begin, n), begin + n == ids.size(), context));
  }
  return Ok();
}

Result<Generation> Generator::Run(std::span<const TokenId> prompt, const GenerationOptions& options,
                                  ContextCache& context, TokenSink sink) {
  LATTICE_TRY_VOID(CheckPrompt(prompt, context));
  LATTICE_TRY(Answer answer, Answer::Begin(model_, prompt, options));
  GenerationUsage& usage = answer.generation().usage;
  const auto start = Clock::now();
  usage.n_prompt = prompt.size();
  LATTICE_TRY(usage.n_cached, context.Reuse(prompt));
  LATTICE_TRY_VOID(Read(prompt.subspan(usage.n_cached), options, context));
  LATTICE_TRY_VOID(context.Checkpoint());
  const auto prompt_end = Clock::now();
  usage.prompt_seconds = Seconds(start, prompt_end);
  const std::size_t limit =
      options.max_tokens != 0 ? options.max_tokens : std::numeric_limits<std::size_t>::max();
  auto first = prompt_end;
  while (true) {
    LATTICE_TRY(const bool ended, answer.Next(std::span(logits_).first(model_.n_tokens()), sink));
    if (usage.n_generated == 1) {
      first = Clock::now();
      usage.first_token_seconds = Seconds(start, first);
    }
    if (ended) break;
    std::optional<FinishReason> reason;
    if (usage.n_generated >= limit) reason = FinishReason::kLength;
    if (!reason && context.ids().size() == context.max_tokens()) reason = FinishReason::kContext;
    if (!reason && options.stop.stop_requested()) reason = FinishReason::kCancelled;
    if (reason) {
      LATTICE_TRY_VOID(answer.Finish(*reason, sink));
      break;
    }
    const TokenId next = answer.last();
    LATTICE_TRY_VOID(Step({&next, 1}, /*wants_logits=*/true, context));
  }
  usage.decode_seconds = Seconds(first, Clock::now());
  return std::move(answer.generation());
}

}  // namespace lattice::engine
