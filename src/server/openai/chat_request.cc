#include "server/openai/chat_request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "server/openai/tool_fields.h"

namespace lattice::server {
namespace {

constexpr std::string_view kNames[] = {"messages",
                                       "max_completion_tokens",
                                       "top_logprobs",
                                       "chat_template_kwargs",
                                       "enable_thinking",
                                       "reasoning_effort",
                                       "add_generation_prompt",
                                       "continue_final_message",
                                       "tools",
                                       "tool_choice",
                                       "parallel_tool_calls",
                                       "functions",
                                       "function_call",
                                       "modalities",
                                       "audio",
                                       "web_search_options",
                                       "reasoning_budget",
                                       "thinking_budget"};

constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                         "high", "xhigh",   "max"};

bool IsEmptyArray(const boost::json::value& value) {
  return value.is_array() && value.get_array().empty();
}

void RefuseUnsupported(FieldReader& reader) {
  for (const char* key : {"functions", "function_call", "audio", "web_search_options"}) {
    const boost::json::value* value = reader.Find(key);
    if (value == nullptr || IsEmptyArray(*value) || *value == "none") continue;
    reader.Complain(key, "asks for what this server does not have", "unsupported_parameter");
  }
  const boost::json::value* modalities = reader.Find("modalities");
  if (modalities != nullptr && *modalities != boost::json::value{"text"}) {
    reader.Complain("modalities", "may only be [\"text\"]", "unsupported_parameter");
  }
}

void ReadRender(FieldReader& reader, chat::RenderOptions& render) {
  render.parse_arguments = true;
  if (const boost::json::object* kwargs = reader.Object("chat_template_kwargs")) {
    render.kwargs = *kwargs;
  }
  FieldReader inner(render.kwargs);
  render.enable_thinking = inner.Bool("enable_thinking");
  if (!inner.ok()) {
    reader.Complain("chat_template_kwargs.enable_thinking", "must be true or false",
                    "invalid_type");
  }
  render.kwargs.erase("enable_thinking");
  if (const auto effort = reader.String("reasoning_effort")) {
    if (std::ranges::find(kEfforts, *effort) == std::end(kEfforts)) {
      reader.Complain("reasoning_effort", "must be none, minimal, low, medium, high, xhigh or max");
    }
    if (*effort == "none") {
      render.enable_thinking = false;
    } else {
      render.kwargs["reasoning_effort"] = *effort;
    }
  }
  if (const auto enable = reader.Bool("enable_thinking")) render.enable_thinking = enable;
  render.continue_final = reader.Bool("continue_final_message").value_or(false);
  render.add_generation_prompt =
      reader.Bool("add_generation_prompt").value_or(!render.continue_final);
  if (render.continue_final && render.add_generation_prompt) {
    reader.Complain("continue_final_message", "and 'add_generation_prompt' exclude each other");
  }
}

/// A format that the user asks for leaves no room for calls that are not required.
void HoldCalls(ToolFields tools, FieldReader& reader, ChatRequest& request) {
  GenerationFields& generation = request.generation;
  if (!tools.calls || (generation.structure && !tools.must_call)) return;
  if (generation.structure || generation.min_tokens > 0) {
    reader.Complain(tools.must_call ? "tool_choice" : "tools",
                    "cannot be held to with 'min_tokens', nor with another format");
  }
  request.must_call = tools.must_call;
  request.holds_calls = true;
  generation.structure =
      StructureField{{decoding::GrammarKind::kToolCalls, *std::move(tools.calls)}, "tools"};
}

/// -1: as many as the model likes.
std::optional<std::size_t> ReadThinkingBudget(FieldReader& reader) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  auto budget = reader.Int("reasoning_budget", -1, kMost);
  if (!budget) budget = reader.Int("thinking_budget", -1, kMost);
  if (!budget || *budget < 0) return std::nullopt;
  return static_cast<std::size_t>(*budget);
}

}  // namespace

ApiResult<ChatRequest> ReadChatRequest(const boost::json::object& body, std::size_t vocab,
                                       const ChatAbilities& abilities) {
  ChatRequest request;
  FieldReader reader(body);
  request.generation = ReadGenerationFields(reader, vocab);
  if (const auto most =
          reader.Int("max_completion_tokens", 1, std::numeric_limits<std::int32_t>::max())) {
    request.generation.max_tokens = static_cast<std::size_t>(*most);
  }
  const bool with_log_probabilities = reader.Bool("logprobs").value_or(false);
  const auto n_top = reader.Int("top_logprobs", 0, 20);
  if (with_log_probabilities) {
    request.n_top_log_probabilities = static_cast<std::size_t>(n_top.value_or(0));
  } else if (n_top.value_or(0) > 0) {
    reader.Complain("top_logprobs", "goes with \"logprobs\": true only");
  }
  ReadRender(reader, request.render);
  ToolFields tools = ReadToolFields(reader, abilities);
  request.conversation.tools = std::move(tools.tools);
  request.parallel_calls = tools.parallel;
  HoldCalls(std::move(tools), reader, request);
  request.thinking_budget = ReadThinkingBudget(reader);
  RefuseUnsupported(reader);
  reader.RefuseOthers({GenerationFieldNames(), StructureFieldNames(), kNames});
  if (!reader.ok()) return reader.error();
  LATTICE_TRY(request.conversation.messages, ReadMessages(body, abilities));
  if (request.render.continue_final && request.conversation.messages.back().role() != "assistant") {
    return ApiError{.message = "'continue_final_message' needs a last message of the assistant",
                    .param = "continue_final_message",
                    .code = "invalid_value"};
  }
  return request;
}

}  // namespace lattice::server
