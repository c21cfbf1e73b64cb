#include <algorithm>
#include <chrono>
#include <utility>

#include "chat/chat_prompt.h"
#include "server/openai/answer_job.h"
#include "server/openai/chat_answer.h"
#include "server/openai/chat_chunks.h"
#include "server/openai/chat_request.h"
#include "server/openai/chat_route.h"
#include "server/openai/completion_answer.h"
#include "server/openai/completion_request.h"
#include "server/openai/infill.h"
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
                                      const tokenizers::Tokenizer& tokenizer,
                                      bool add_special_tokens = true) {
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) return *ids;
  auto encoding =
      tokenizer.Encode(std::get<std::string>(prompt), {.add_special_tokens = add_special_tokens});
  if (!encoding) return FromError(encoding.error());
  return std::move(encoding->ids);
}

/// The prompt with which `tokens` ask for what stands before the suffix.
ApiResult<std::vector<TokenId>> InfillIdsOf(const TextOrIds& prompt, const std::string& suffix,
                                            const InfillTokens& tokens,
                                            const tokenizers::Tokenizer& tokenizer) {
  LATTICE_TRY(const std::vector<TokenId> before, IdsOf(prompt, tokenizer, false));
  LATTICE_TRY(const std::vector<TokenId> after, IdsOf(suffix, tokenizer, false));
  auto ids = InfillPrompt(tokens, before, after, tokenizer);
  if (!ids) return FromError(ids.error());
  return *std::move(ids);
}

/// A budget for a model that does not think is kept by itself.
ApiResult<std::optional<engine::ThinkingLimit>> ThinkingLimitOf(const PreparedChat& prepared) {
  const chat::ChatFormat& format = *prepared.model->chat;
  const auto budget = prepared.request.thinking_budget;
  if (!budget || !format.markers) return std::optional<engine::ThinkingLimit>();
  if (prepared.request.generation.structure) {
    return ApiError{
        .message = "'reasoning_budget' cannot go with an answer that is held to a format",
        .param = "reasoning_budget",
        .code = "unsupported_parameter"};
  }
  auto tokens = chat::FindThinkingTokens(format, *prepared.model->tokenizer);
  if (!tokens) {
    ApiError error = FromError(tokens.error());
    error.param = "reasoning_budget";
    return error;
  }
  return std::optional(engine::ThinkingLimit{.max_tokens = *budget,
                                             .open = std::move(tokens->open),
                                             .close = tokens->close,
                                             .begins_inside = prepared.prompt.opens_reasoning,
                                             .closing = std::move(tokens->closing)});
}

ApiResult<std::string> TextOf(const TextOrIds& prompt, const tokenizers::Tokenizer& tokenizer) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
  auto text = tokenizer.Decode(std::get<std::vector<TokenId>>(prompt), false);
  if (!text) return FromError(text.error());
  return *std::move(text);
}

}  // namespace

void Service::Chat(const ExchangePtr& exchange) {
  const ChatRoute route{.id_prefix = "chatcmpl-",
                        .call_prefix = "call_",
                        .make_writer = [](const ChatStart& start) -> std::unique_ptr<ChatWriter> {
                          return std::make_unique<ChatChunks>(
                              start.head, start.request.generation.n,
                              start.request.n_top_log_probabilities.has_value());
                        }};
  const auto body = ParseBody(exchange->request().body);
  const auto error =
      body ? StartChat(exchange, *body, route) : std::optional<ApiError>(body.error());
  if (error) exchange->Reply(ErrorResponse(*error));
}

void Service::Complete(const ExchangePtr& exchange) {
  if (const auto error = StartCompletion(exchange)) exchange->Reply(ErrorResponse(*error));
}

ApiResult<PreparedChat> Service::PrepareChat(const boost::json::object& body) const {
  LATTICE_TRY(TextModelPtr model, TextModel(body));
  if (!model->chat) {
    return ApiError{.message = "this model cannot chat: " + model->chat.error().message};
  }
  const chat::ChatFormat& format = *model->chat;
  std::vector<std::string> control_marks;
  for (const TokenId id : format.call_tokens) {
    const auto name = model->tokenizer->TokenText(id);
    if (name && model->tokenizer->IsSpecial(id)) control_marks.emplace_back(*name);
  }
  LATTICE_TRY(ChatRequest request, ReadChatRequest(body, model->n_tokens,
                                                   {.knows_developer = format.knows_developer,
                                                    .calls = format.calls,
                                                    .control_marks = std::move(control_marks),
                                                    .short_call_ids = format.short_call_ids}));
  auto prompt = chat::MakeChatPrompt(format, *model->tokenizer, request.conversation,
                                     request.render, model->recurrent);
  if (!prompt) {
    ApiError error = FromError(prompt.error());
    error.status = 400;  // what a template cannot render, or only beyond its limits
    error.param = "messages";
    return error;
  }
  return PreparedChat{std::move(model), std::move(request), *std::move(prompt)};
}

std::optional<ApiError> Service::StartChat(const ExchangePtr& exchange,
                                           const boost::json::object& body,
                                           const ChatRoute& route) {
  LATTICE_TRY(PreparedChat prepared, PrepareChat(body));
  const ServedTextModel& model = *prepared.model;
  const chat::ChatFormat& format = *model.chat;
  const ChatRequest& request = prepared.request;
  const GenerationFields& fields = request.generation;
  LATTICE_TRY(const AnswerStructure structure,
              PrepareStructure(fields.structure, model, format.markers ? &*format.markers : nullptr,
                               prepared.prompt.opens_reasoning,
                               request.render.enable_thinking.value_or(true)));
  LATTICE_TRY(const auto thinking, ThinkingLimitOf(prepared));
  // An answer that is held to a format has no room for calls.
  const bool offers_tools =
      request.conversation.tools.has_value() && (!fields.structure || request.holds_calls);
  ChatAnswerOptions options;
  options.n_choices = fields.n;
  options.with_log_probabilities = request.n_top_log_probabilities.has_value();
  options.markers = format.markers;
  options.opens_reasoning = prepared.prompt.opens_reasoning;
  if (offers_tools) {
    options.calls = request.must_call ? chat::CallForm::kLlama : format.calls;
    options.tools = std::make_shared<chat::OfferedTools>(*request.conversation.tools);
    options.parallel_calls = request.parallel_calls;
  }
  options.stop_strings = fields.stop;
  options.call_prefix = route.call_prefix;
  options.unique = exchange->id();
  ChatStart start{.head = HeadFor(*exchange, route.id_prefix, model, fields),
                  .request = request,
                  .n_prompt = prepared.prompt.ids.size()};
  AnswerPlan plan;
  plan.shape =
      std::make_unique<ChatAnswer>(std::move(options), route.make_writer(start), model.tokenizer);
  plan.n_per_prompt = fields.n;
  plan.stream = fields.stream;
  plan.prompt_field = "messages";
  const std::uint64_t seed = RandomSeed();
  for (std::size_t i = 0; i < fields.n; ++i) {
    engine::GenerationRequest& generation = plan.requests.emplace_back();
    generation.prompt = prepared.prompt.ids;
    generation.boundaries = prepared.prompt.boundaries;
    generation.options = OptionsFor(fields, model.defaults, seed, i);
    structure.HoldTo(model, generation.options);
    generation.options.shown_special = format.marker_tokens;  // to be split off
    if (offers_tools) {
      auto& shown = generation.options.shown_special;
      shown.insert(shown.end(), format.call_tokens.begin(), format.call_tokens.end());
    }
    generation.options.n_top_log_probabilities = request.n_top_log_probabilities;
    generation.options.thinking = thinking;
  }
  AnswerJob::Start(exchange, std::move(plan), std::move(prepared.model), metrics_);
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
  std::optional<InfillTokens> infill;
  if (!request.suffix.empty()) {
    infill = FindInfillTokens(*model->tokenizer);
    if (!infill) {
      return ApiError{.message = "'suffix': this model has no tokens that ask for a middle",
                      .param = "suffix",
                      .code = "unsupported_parameter"};
    }
  }
  options.only_echo = request.only_echo;
  AnswerPlan plan;
  plan.judges_prompt = request.echo && request.n_top_log_probabilities;
  plan.says_nothing = request.only_echo;
  const std::uint64_t seed = RandomSeed();
  for (const TextOrIds& prompt : request.prompts) {
    LATTICE_TRY(const std::vector<TokenId> ids,
                infill ? InfillIdsOf(prompt, request.suffix, *infill, *model->tokenizer)
                       : IdsOf(prompt, *model->tokenizer));
    if (request.echo) {
      LATTICE_TRY(std::string text, TextOf(prompt, *model->tokenizer));
      options.echoes.push_back(std::move(text));
      if (plan.judges_prompt && !ids.empty()) options.first_tokens.push_back(ids.front());
    }
    for (std::size_t i = 0; i < fields.n; ++i) {
      engine::GenerationRequest& generation = plan.requests.emplace_back();
      generation.prompt = ids;
      generation.options = OptionsFor(fields, model->defaults, seed, i);
      structure.HoldTo(*model, generation.options);
      if (infill) {
        auto& stops = generation.options.stop_tokens;
        stops.insert(stops.end(), infill->ends.begin(), infill->ends.end());
      }
      generation.options.n_top_log_probabilities = request.n_top_log_probabilities;
    }
  }
  plan.shape = std::make_unique<CompletionAnswer>(std::move(options), model->tokenizer);
  plan.n_per_prompt = fields.n;
  plan.stream = fields.stream;
  AnswerJob::Start(exchange, std::move(plan), model, metrics_);
  return std::nullopt;
}

}  // namespace lattice::server
