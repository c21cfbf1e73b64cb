#include "server/openai/chat_request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

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
                                       "web_search_options"};

constexpr std::string_view kRoles[] = {"developer", "system", "user",
                                       "assistant", "tool",   "function"};
constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium",
                                         "high", "xhigh",   "max"};

ApiError BadMessages(std::string message) {
  // The place that the complaint begins with: "messages[3].content: ...".
  std::string param = message.starts_with("messages") ? message.substr(0, message.find(": ")) : "";
  if (param.empty() || param.size() > 100) param = "messages";
  return {.message = std::move(message), .param = std::move(param), .code = "invalid_value"};
}

/// The content as one text; parts that are no text are refused.
ApiResult<boost::json::value> JoinedContent(const boost::json::value& content,
                                            const std::string& where) {
  const auto* parts = content.if_array();
  if (parts == nullptr) return content;
  std::string text;
  for (const boost::json::value& part : *parts) {
    const boost::json::object& object = part.get_object();  // Message::FromJson has seen to it
    const std::string_view type(object.at("type").get_string());
    const char* key = type == "text" ? "text" : type == "refusal" ? "refusal" : nullptr;
    const boost::json::value* piece = key == nullptr ? nullptr : object.if_contains(key);
    if (piece == nullptr || !piece->is_string()) {
      return BadMessages(where + ".content: this model reads parts of type \"text\" only");
    }
    text += std::string_view(piece->get_string());
  }
  return boost::json::value(text);
}

ApiResult<chat::Message> ReadMessage(const JsonView& json, bool knows_developer) {
  auto checked = chat::Message::FromJson(json);
  if (!checked) return BadMessages(std::move(checked).error().message);
  boost::json::object message = checked->json();
  const std::string_view role = checked->role();
  if (std::ranges::find(kRoles, role) == std::end(kRoles)) {
    return BadMessages(json.where() +
                       ".role: must be system, developer, user, assistant, tool or function");
  }
  const boost::json::value* content = message.if_contains("content");
  const bool empty = content == nullptr || content->is_null();
  if (empty && role != "assistant") return BadMessages(json.where() + ".content: is missing");
  if (empty) {
    message["content"] = "";
  } else {
    LATTICE_TRY(message["content"], JoinedContent(*content, json.where()));
  }
  if (role == "developer" && !knows_developer) message["role"] = "system";
  return chat::Message(std::move(message));
}

ApiResult<std::vector<chat::Message>> ReadMessages(const boost::json::object& body,
                                                   bool knows_developer) {
  const boost::json::value* list = body.if_contains("messages");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return BadMessages("messages: must be an array of at least one message");
  }
  const JsonView view(*list, "messages");
  auto items = view.Array();
  std::vector<chat::Message> messages;
  for (const JsonView& item : *items) {
    LATTICE_TRY(chat::Message message, ReadMessage(item, knows_developer));
    messages.push_back(std::move(message));
  }
  return messages;
}

bool IsEmptyArray(const boost::json::value& value) {
  return value.is_array() && value.get_array().empty();
}

/// Tools may be sent as long as none is to be called: then they are left out of the prompt.
void RefuseTools(FieldReader& reader) {
  const boost::json::value* choice = reader.Find("tool_choice");
  const bool none = choice != nullptr && *choice == "none";
  const boost::json::value* tools = reader.Find("tools");
  const bool any = tools != nullptr && !IsEmptyArray(*tools);
  if (any && !none) {
    reader.Complain("tools",
                    "cannot be called by models of this server yet; with \"tool_choice\": \"none\" "
                    "they are ignored",
                    "unsupported_parameter");
  }
  if (choice != nullptr && !none && *choice != "auto") {
    reader.Complain("tool_choice", "may only be \"none\" or \"auto\"", "unsupported_parameter");
  }
  (void)reader.Bool("parallel_tool_calls");
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

}  // namespace

ApiResult<ChatRequest> ReadChatRequest(const boost::json::object& body, std::size_t vocab,
                                       bool knows_developer) {
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
  RefuseTools(reader);
  reader.RefuseOthers({GenerationFieldNames(), StructureFieldNames(), kNames});
  if (!reader.ok()) return reader.error();
  LATTICE_TRY(request.conversation.messages, ReadMessages(body, knows_developer));
  if (request.render.continue_final && request.conversation.messages.back().role() != "assistant") {
    return ApiError{.message = "'continue_final_message' needs a last message of the assistant",
                    .param = "continue_final_message",
                    .code = "invalid_value"};
  }
  return request;
}

}  // namespace lattice::server
