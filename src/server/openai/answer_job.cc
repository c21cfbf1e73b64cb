#include "server/openai/answer_job.h"

#include <utility>

namespace lattice::server {
namespace {

HttpResponse StreamHead(const Dialect& dialect) {
  HttpResponse head{.content_type = dialect.content_type(), .headers = dialect.headers()};
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");
  return head;
}

ApiError FromRefusal(const engine::Refusal& refusal, const char* prompt_field) {
  ApiError error{.message = refusal.error.message};
  switch (refusal.reason) {
    case engine::Refusal::Reason::kInvalid:
      break;
    case engine::Refusal::Reason::kTooLong:
      error.param = prompt_field;
      error.code = "context_length_exceeded";
      break;
    case engine::Refusal::Reason::kQueueFull:
      error.status = 429;
      error.code = "rate_limit_exceeded";
      break;
    case engine::Refusal::Reason::kStopping:
      error.status = 503;
      error.code = "shutting_down";
      break;
  }
  return error;
}

/// Why an accepted request gave no answer, if it did not.
std::optional<ApiError> Failure(const engine::GenerationEnd& end) {
  if (end.error) {
    return ApiError{.status = 500, .message = "the answer broke off: " + end.error->message};
  }
  if (end.finish == engine::FinishReason::kDeadline && end.usage.n_generated == 0) {
    return ApiError{.status = 503,
                    .message = "the time that an answer may take was over before its first token",
                    .code = "timed_out"};
  }
  if (end.finish != engine::FinishReason::kCancelled) return std::nullopt;
  return ApiError{.status = 503, .message = "the server is shutting down", .code = "shutting_down"};
}

}  // namespace

AnswerJob::AnswerJob(std::shared_ptr<Exchange> exchange, AnswerPlan plan, TextModelPtr model,
                     Metrics& metrics)
    : model_(std::move(model)),
      exchange_(std::move(exchange)),
      metrics_(metrics),
      plan_(std::move(plan)),
      satisfied_(plan_.requests.size()),
      stops_(plan_.requests.size()),
      on_gone_(exchange_->gone(), StopAll{stops_}) {
  if (plan_.stream) {
    emit_ = [this](const std::string& piece) { Emit(piece); };
  }
}

void AnswerJob::Start(std::shared_ptr<Exchange> exchange, AnswerPlan plan, TextModelPtr model,
                      Metrics& metrics) {
  const std::shared_ptr<AnswerJob> job(
      new AnswerJob(std::move(exchange), std::move(plan), std::move(model), metrics));
  job->Submit();
}

void AnswerJob::Submit() {
  const std::scoped_lock lock(mutex_);
  std::vector<engine::GenerationRequest> requests = std::move(plan_.requests);
  n_open_ = requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    engine::GenerationRequest& request = requests[i];
    request.options.stop = stops_[i].get_token();
    request.on_token = [self = shared_from_this(), i](const engine::GeneratedToken& token) {
      self->OnToken(i, token);
    };
    if (plan_.judges_prompt) {
      request.on_prompt_token = [self = shared_from_this(),
                                 i](const decoding::LogProbabilities& said) {
        self->OnPromptToken(i, said);
      };
    }
    request.on_end = [self = shared_from_this(), i](const engine::GenerationEnd& end) {
      self->OnEnd(i, end);
    };
    if (const auto refusal = model_->submit(std::move(request))) {
      StopAnswers();  // for the choices that were accepted
      over_ = true;
      exchange_->Reply(plan_.shape->dialect().Failure(FromRefusal(*refusal, plan_.prompt_field)));
      return;
    }
  }
  // Only now is it certain that there will be an answer.
  if (plan_.stream) {
    const Dialect& dialect = plan_.shape->dialect();
    exchange_->BeginStream(StreamHead(dialect), dialect.idle_piece());
    streaming_ = true;
  }
  plan_.shape->Begin(emit_);
}

void AnswerJob::Emit(const std::string& piece) {
  if (!exchange_->Write(piece)) StopAnswers();
}

void AnswerJob::StopAnswers() { StopAll{stops_}(); }

void AnswerJob::OnPromptToken(std::size_t choice, const decoding::LogProbabilities& said) {
  const std::scoped_lock lock(mutex_);
  if (!over_ && !error_) plan_.shape->TakePromptToken(choice, said);
}

void AnswerJob::OnToken(std::size_t choice, const engine::GeneratedToken& token) {
  const std::scoped_lock lock(mutex_);
  if (over_ || error_ || satisfied_[choice]) return;
  if (plan_.shape->Take(choice, token, emit_)) return;
  satisfied_[choice] = true;
  stops_[choice].request_stop();
}

void AnswerJob::OnEnd(std::size_t choice, const engine::GenerationEnd& reported) {
  const std::scoped_lock lock(mutex_);
  engine::GenerationEnd end = reported;
  if (satisfied_[choice]) end.finish = engine::FinishReason::kStop;  // It was told to say no more.
  metrics_.ObserveGeneration(end);
  if (over_) return;
  if (choice % plan_.n_per_prompt == 0) {
    totals_.n_prompt += end.usage.n_prompt;
    totals_.n_cached += end.usage.n_cached;
  }
  if (!plan_.says_nothing) totals_.n_generated += end.usage.n_generated;
  if (auto failure = Failure(end)) {
    if (!error_) error_ = std::move(failure);
    StopAnswers();
  } else if (!error_) {
    plan_.shape->End(choice, end, emit_);
  }
  if (--n_open_ == 0) Finish();
}

void AnswerJob::Finish() {
  over_ = true;
  const Dialect& dialect = plan_.shape->dialect();
  if (error_ && !streaming_) return exchange_->Reply(dialect.Failure(*error_));
  if (error_) {
    Emit(dialect.FailurePiece(*error_));
    return exchange_->EndStream();
  }
  totals_.n_reasoning = plan_.shape->n_reasoning();
  if (!streaming_) {
    return exchange_->Reply({.headers = dialect.headers(), .body = plan_.shape->Whole(totals_)});
  }
  plan_.shape->Close(totals_, emit_);
  exchange_->EndStream();
}

}  // namespace lattice::server
