#include "server/openai/answer_job.h"

#include <utility>

namespace lattice::server {
namespace {

constexpr const char* kPing = ": ping\n\n";

HttpResponse StreamHead() {
  return {.content_type = "text/event-stream; charset=utf-8",
          .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}};
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
      on_gone_(exchange_->gone(), StopAll{stop_}) {
  if (plan_.stream) {
    emit_ = [this](const std::string& event) { Emit(event); };
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
    request.options.stop = stop_.get_token();
    request.on_token = [self = shared_from_this(), i](const engine::GeneratedToken& token) {
      self->OnToken(i, token);
    };
    request.on_end = [self = shared_from_this(), i](const engine::GenerationEnd& end) {
      self->OnEnd(i, end);
    };
    if (const auto refusal = model_->submit(std::move(request))) {
      stop_.request_stop();  // for the choices that were accepted
      over_ = true;
      exchange_->Reply(ErrorResponse(FromRefusal(*refusal, plan_.prompt_field)));
      return;
    }
  }
  // Only now is it certain that there will be an answer.
  if (plan_.stream) {
    exchange_->BeginStream(StreamHead(), kPing);
    streaming_ = true;
  }
  plan_.shape->Begin(emit_);
}

void AnswerJob::Emit(const std::string& event) {
  if (!exchange_->Write("data: " + event + "\n\n")) stop_.request_stop();
}

void AnswerJob::OnToken(std::size_t choice, const engine::GeneratedToken& token) {
  const std::scoped_lock lock(mutex_);
  if (!over_ && !error_) plan_.shape->Take(choice, token, emit_);
}

void AnswerJob::OnEnd(std::size_t choice, const engine::GenerationEnd& end) {
  metrics_.ObserveGeneration(end);
  const std::scoped_lock lock(mutex_);
  if (over_) return;
  if (choice % plan_.n_per_prompt == 0) {
    totals_.n_prompt += end.usage.n_prompt;
    totals_.n_cached += end.usage.n_cached;
  }
  totals_.n_generated += end.usage.n_generated;
  if (auto failure = Failure(end)) {
    if (!error_) error_ = std::move(failure);
    stop_.request_stop();
  } else if (!error_) {
    plan_.shape->End(choice, end, emit_);
  }
  if (--n_open_ == 0) Finish();
}

void AnswerJob::Finish() {
  over_ = true;
  if (error_ && !streaming_) return exchange_->Reply(ErrorResponse(*error_));
  if (error_) {
    Emit(ErrorBody(*error_));  // and no [DONE]: the answer is not complete
    return exchange_->EndStream();
  }
  totals_.n_reasoning = plan_.shape->n_reasoning();
  if (!streaming_) return exchange_->Reply({.body = plan_.shape->Whole(totals_)});
  if (plan_.include_usage) Emit(plan_.shape->UsageEvent(totals_));
  Emit("[DONE]");
  exchange_->EndStream();
}

}  // namespace lattice::server
