#include "engine/answer.h"

#include <utility>

#include "lattice/check.h"

namespace lattice::engine {
namespace {

constexpr float kNever = -1e30f;  // a logit that neither penalties nor temperatures make infinite

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Rate(std::size_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  constexpr std::string_view kNames[] = {"stop", "length", "context", "cancelled", "deadline"};
  return kNames[static_cast<std::size_t>(reason)];
}

double GenerationUsage::prompt_tokens_per_second() const {
  return Rate(n_prompt - n_cached, prompt_seconds);
}

double GenerationUsage::decode_tokens_per_second() const {
  return n_generated < 2 ? 0 : Rate(n_generated - 1, decode_seconds);
}

Status CheckPrompt(const TextModel& model, std::span<const TokenId> prompt) {
  if (prompt.empty()) return Error{ErrorCode::kInvalidArgument, "the prompt has no tokens"};
  for (const TokenId id : prompt) {
    if (id >= 0 && static_cast<std::size_t>(id) < model.model->info().vocab) continue;
    return Error{ErrorCode::kInvalidArgument, "token " + std::to_string(id) +
                                                  " is outside the vocabulary of " +
                                                  std::to_string(model.model->info().vocab)};
  }
  return Ok();
}

Result<Answer> Answer::Begin(const TextModel& model, std::span<const TokenId> prompt,
                             const GenerationOptions& options) {
  LATTICE_TRY(decoding::Sampler sampler,
              decoding::Sampler::Create(options.sampling, model.n_tokens(), model.tokenizer));
  sampler.AcceptPrompt(prompt);
  sampler.SetMask(options.mask.get());
  decoding::TextStreamOptions text;
  text.stop_strings = options.stop_strings;
  text.stop_tokens = options.stop_tokens;
  if (!options.ignore_stop_tokens) {
    text.stop_tokens.insert(text.stop_tokens.end(), model.defaults.stop_ids.begin(),
                            model.defaults.stop_ids.end());
  }
  text.skip_special_tokens = options.skip_special_tokens;
  text.shown_special = options.shown_special;
  LATTICE_TRY(decoding::TextStream stream, decoding::TextStream::Create(model.tokenizer, text));
  Answer answer(std::move(sampler), std::move(stream), model.n_tokens(), prompt.size(), options);
  if (options.min_tokens > 0) answer.stop_tokens_ = std::move(text.stop_tokens);
  return answer;
}

Answer::Answer(decoding::Sampler sampler, decoding::TextStream stream, std::size_t n_tokens,
               std::size_t n_prompt, const GenerationOptions& options)
    : sampler_(std::move(sampler)),
      stream_(std::move(stream)),
      n_tokens_(n_tokens),
      options_(&options) {
  if (options.thinking) budget_.emplace(*options.thinking);
  usage_.n_prompt = n_prompt;
}

void Answer::StartWork() {
  if (work_began_) return;
  work_began_ = Clock::now();
  usage_.waiting_seconds = Seconds(*work_began_ - made_);
}

Result<TokenId> Answer::Draw(std::span<const float> logits) {
  if (budget_) {
    if (const auto forced = budget_->Forced()) return *forced;
  }
  if (usage_.n_generated >= options_->min_tokens) return sampler_.Sample(logits);
  without_stops_.assign(logits.begin(), logits.end());
  for (const TokenId id : stop_tokens_) {
    if (static_cast<std::size_t>(id) >= without_stops_.size()) continue;
    without_stops_[static_cast<std::size_t>(id)] = kNever;
  }
  return sampler_.Sample(without_stops_);
}

/// Puts a token that belongs to the text where Show finds it.
Status Answer::Hold(TokenId id, std::span<const float> logits) {
  has_token_ = true;
  if (!options_->n_top_log_probabilities) return Ok();
  return reader_.Read(logits, id, *options_->n_top_log_probabilities, log_probabilities_);
}

Status Answer::Next(std::span<const float> logits) {
  LATTICE_CHECK(work_began_ && !finish_);
  logits = logits.first(n_tokens_);
  if (usage_.n_generated == 0) usage_.prompt_seconds = Seconds(Clock::now() - *work_began_);
  LATTICE_TRY(const TokenId id, Draw(logits));
  return Take(id, logits);
}

Result<bool> Answer::NextForced() {
  LATTICE_CHECK(!finish_);
  if (options_->n_top_log_probabilities) return false;
  std::optional<TokenId> id = budget_ ? budget_->Forced() : std::nullopt;
  if (!id) {
    LATTICE_TRY(id, sampler_.SampleForced());
  }
  if (!id) return false;
  ++usage_.n_forced;
  LATTICE_TRY_VOID(Take(*id, {}));
  return true;
}

/// The answer goes on with this token.
Status Answer::Take(TokenId id, std::span<const float> logits) {
  last_ = id;
  ++usage_.n_generated;
  LATTICE_TRY_VOID(sampler_.Accept(id));
  if (budget_) budget_->Accept(id);
  using Stop = decoding::TextStream::Stop;
  piece_.clear();
  LATTICE_TRY(const Stop stop, stream_.Push(id, piece_));
  if (stop == Stop::kToken) {
    std::swap(piece_, tail_);
  } else {
    LATTICE_TRY_VOID(Hold(id, logits));
  }
  if (stop != Stop::kNone) {
    finish_ = FinishReason::kStop;
    return Ok();
  }
  if (options_->mask != nullptr && options_->mask->IsOver()) return End(FinishReason::kStop);
  const bool full = options_->max_tokens != 0 && usage_.n_generated >= options_->max_tokens;
  return full ? End(FinishReason::kLength) : Ok();
}

Status Answer::End(FinishReason reason) {
  LATTICE_CHECK(!finish_);
  StartWork();
  finish_ = reason;
  LATTICE_TRY(const auto stop, stream_.Finish(tail_));
  if (stop == decoding::TextStream::Stop::kString) finish_ = FinishReason::kStop;
  return Ok();
}

Status Answer::Show(TokenSink sink) {
  const auto now = Clock::now();
  if (usage_.n_generated > 0 && !first_token_) {
    first_token_ = now;
    usage_.first_token_seconds = Seconds(now - *work_began_);
  }
  if (finish_ && first_token_) usage_.decode_seconds = Seconds(now - *first_token_);
  if (std::exchange(has_token_, false)) {
    const bool with_numbers = options_->n_top_log_probabilities.has_value();
    LATTICE_TRY_VOID(sink({last_, piece_, with_numbers ? &log_probabilities_ : nullptr}));
  }
  return tail_.empty() ? Ok() : sink({-1, tail_, nullptr});
}

}  // namespace lattice::engine
