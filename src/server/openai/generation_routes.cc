#include <chrono>
#include <utility>

#include "chat/chat_prompt.h"
#include "server/openai/answer_job.h"
#include "server/openai/chat_answer.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_answer.h"
#include "server/openai/completion_request.h"
#include "server/openai/service.h"

namespace lattice::server {
namespace {

AnswerHead HeadFor(const Exchange& exchange, const char* prefix, const ServedTextModel& model,
                   const GenerationFields& fields) {
  const std::string& id = exchange.id();
  return {.id = prefix + id.substr(id.find('_') + 1),
          .created = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count(),
          .model = model.id,
          .include_usage = fields.include_usage};
}

ApiResult<std::vector<TokenId>> IdsOf(const TextOrIds& prompt,
                                      const tokenizers::Tokenizer& tokenizer) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) return *ids;
  auto encoding = tokenizer.Encode(std::get<std::string>(prompt), {});
  if (!encoding) return FromError(encoding.error());
  return std::move(encoding->ids);
}

ApiResult<std::string> TextOf(const TextOrIds& prompt, const tokenizers::Tokenizer& tokenizer) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
  auto text = tokenizer.Decode(std::get<std::vector<TokenId>>(prompt), false);
  if (!text) return FromError(text.error());
  return *std::move(text);
}

}  // namespace

void Service::Chat(const ExchangePtr& exchange) {
  if (const auto error = StartChat(exchange)) exchange->Reply(ErrorResponse(*error));
}

void Service::Complete(const ExchangePtr& exchange) {
  if (const auto error = StartCompletion(exchange)) exchange->Reply(ErrorResponse(*error));
}

std::optional<ApiError> Service::StartChat(const ExchangePtr& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange->request().body));
  LATTICE_TRY(const TextModelPtr model, TextModel(body));
  if (!model->chat) {
    return ApiError{.message = "this model cannot chat: " + model->chat.error().message};
  }
  const chat::ChatFormat& format = *model->chat;
  LATTICE_TRY(const ChatRequest request,
              ReadChatRequest(body, model->n_tokens, format.knows_developer));
  auto prompt = chat::MakeChatPrompt(format, *model->tokenizer, request.conversation,
                                     request.render, model->recurrent);
  if (!prompt) {
    ApiError error = FromError(prompt.error());
    error.status = 400;  // what a template cannot render, or only beyond its limits
    error.param = "messages";
    return error;
  }
  const GenerationFields& fields = request.generation;
  LATTICE_TRY(
      const AnswerStructure structure,
      PrepareStructure(fields.structure, *model, format.markers ? &*format.markers : nullptr,
                       prompt->opens_reasoning, request.render.enable_thinking.value_or(true)));
  ChatAnswerOptions options;
  options.head = HeadFor(*exchange, "chatcmpl-", *model, fields);
  options.n_choices = fields.n;
  options.with_log_probabilities = request.n_top_log_probabilities.has_value();
  options.markers = format.markers;
  options.opens_reasoning = prompt->opens_reasoning;
  AnswerPlan plan;
  plan.shape = std::make_unique<ChatAnswer>(std::move(options), model->tokenizer);
  plan.n_per_prompt = fields.n;
  plan.stream = fields.stream;
  plan.include_usage = fields.include_usage;
  plan.prompt_field = "messages";
  const std::uint64_t seed = RandomSeed();
  for (std::size_t i = 0; i < fields.n; ++i) {
    engine::GenerationRequest& generation = plan.requests.emplace_back();
    generation.prompt = prompt->ids;
    generation.boundaries = prompt->boundaries;
    generation.options = OptionsFor(fields, model->defaults, seed, i);
    structure.HoldTo(*model, generation.options);
    generation.options.shown_special = format.marker_tokens;  // to be split off
    generation.options.n_top_log_probabilities = request.n_top_log_probabilities;
  }
  AnswerJob::Start(exchange, std::move(plan), model, metrics_);
  return std::nullopt;
}

std::optional<ApiError> Service::StartCompletion(const ExchangePtr& exchange) {
  LATTICE_TRY(const boost::json::object body, ParseBody(exchange->request().body));
  LATTICE_TRY(const TextModelPtr model, TextModel(body));
  LATTICE_TRY(const CompletionRequest request,
              ReadCompletionRequest(body, model->n_tokens, model->vocab));
  const GenerationFields& fields = request.generation;
  LATTICE_TRY(const AnswerStructure structure, PrepareStructure(fields.structure, *model));
  CompletionAnswerOptions options;
  options.head = HeadFor(*exchange, "cmpl-", *model, fields);
  options.n_per_prompt = fields.n;
  options.n_prompts = request.prompts.size();
  options.with_log_probabilities = request.n_top_log_probabilities.has_value();
  AnswerPlan plan;
  const std::uint64_t seed = RandomSeed();
  for (const TextOrIds& prompt : request.prompts) {
    LATTICE_TRY(const std::vector<TokenId> ids, IdsOf(prompt, *model->tokenizer));
    if (request.echo) {
      LATTICE_TRY(std::string text, TextOf(prompt, *model->tokenizer));
      options.echoes.push_back(std::move(text));
    }
    for (std::size_t i = 0; i < fields.n; ++i) {
      engine::GenerationRequest& generation = plan.requests.emplace_back();
      generation.prompt = ids;
      generation.options = OptionsFor(fields, model->defaults, seed, i);
      structure.HoldTo(*model, generation.options);
      generation.options.n_top_log_probabilities = request.n_top_log_probabilities;
    }
  }
  plan.shape = std::make_unique<CompletionAnswer>(std::move(options), model->tokenizer);
  plan.n_per_prompt = fields.n;
  plan.stream = fields.stream;
  plan.include_usage = fields.include_usage;
  AnswerJob::Start(exchange, std::move(plan), model, metrics_);
  return std::nullopt;
}

}  // namespace lattice::server
