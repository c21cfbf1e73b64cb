#include "server/responses/response_request.h"

#include <string>
#include <string_view>
#include <utility>

#include "server/openai/field_reader.h"

namespace lattice::server {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr std::string_view kNames[] = {
    "model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "top_k", "min_p",
    "seed", "stream", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning",
    "previous_response_id", "store", "truncation", "include", "enable_thinking", "reasoning_budget",
    "chat_template_kwargs",
    // Without influence on the answer.
    "metadata", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "service_tier", "max_tool_calls", "stream_options", "client_metadata"};
constexpr std::string_view kRefused[] = {"background", "conversation", "prompt", "top_logprobs",
                                         "context_management"};

ApiError Bad(const std::string& where, const std::string& what,
             const char* code = "invalid_value") {
  return {.message = where + ": " + what, .param = where, .code = code};
}

std::string_view StringAt(const object& from, std::string_view key) {
  const value* found = from.if_contains(key);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_string();
}

/// A text, or parts of text, joined.
ApiResult<std::string> TextOf(const value* content, const std::string& where) {
  if (content == nullptr || content->is_null()) return Bad(where, "is missing");
  if (const auto* text = content->if_string()) return std::string(*text);
  const auto* parts = content->if_array();
  if (parts == nullptr) return Bad(where, "must be a string or an array of parts");
  std::string joined;
  for (const value& part : *parts) {
    const auto* inner = part.if_object();
    const std::string_view type = inner == nullptr ? "" : StringAt(*inner, "type");
    const bool is_text = type == "input_text" || type == "output_text" || type == "text" ||
                         type == "reasoning_text" || type == "summary_text";
    if (!is_text && type != "refusal") {
      return Bad(where, "may only have parts of text: this model reads no others");
    }
    joined += StringAt(*inner, is_text ? "text" : "refusal");
  }
  return joined;
}

/// Turns items into messages: thinking, text and calls that follow each other are one answer.
class ItemReader {
 public:
  explicit ItemReader(array& messages) : messages_(messages) {}

  ApiResult<bool> Read(const value& json, const std::string& where) {
    const auto* item = json.if_object();
    if (item == nullptr) return Bad(where, "must be an object");
    const std::string_view type = StringAt(*item, "type");
    if (type.empty() || type == "message") return ReadMessage(*item, where);
    if (type == "function_call") return ReadCall(*item, where);
    if (type == "function_call_output") return ReadOutput(*item, where);
    if (type == "reasoning") return ReadReasoning(*item, where);
    return Bad(where + ".type", "is not one that this server reads");
  }

 private:
  ApiResult<bool> ReadMessage(const object& item, const std::string& where) {
    LATTICE_TRY(const std::string text, TextOf(item.if_contains("content"), where + ".content"));
    const std::string_view role = StringAt(item, "role");
    if (role != "assistant") {
      in_answer_ = false;
      messages_.push_back({{"role", role}, {"content", text}});
      return true;
    }
    object& answer = Answer();
    const std::string before(StringAt(answer, "content"));
    answer["content"] = before.empty() ? text : before + "\n\n" + text;
    return true;
  }

  ApiResult<bool> ReadCall(const object& item, const std::string& where) {
    for (const char* key : {"call_id", "name", "arguments"}) {
      if (StringAt(item, key).empty()) return Bad(where + "." + key, "is missing");
    }
    object& answer = Answer();
    if (!answer.contains("tool_calls")) answer["tool_calls"] = array();
    answer["tool_calls"].get_array().push_back(
        {{"id", StringAt(item, "call_id")},
         {"type", "function"},
         {"function",
          {{"name", StringAt(item, "name")}, {"arguments", StringAt(item, "arguments")}}}});
    return true;
  }

  ApiResult<bool> ReadOutput(const object& item, const std::string& where) {
    if (StringAt(item, "call_id").empty()) return Bad(where + ".call_id", "is missing");
    LATTICE_TRY(const std::string text, TextOf(item.if_contains("output"), where + ".output"));
    in_answer_ = false;
    messages_.push_back(
        {{"role", "tool"}, {"tool_call_id", StringAt(item, "call_id")}, {"content", text}});
    return true;
  }

  ApiResult<bool> ReadReasoning(const object& item, const std::string& where) {
    const value* content = item.if_contains("content");
    if (content == nullptr || content->is_null()) return true;  // A summary is not what it thought.
    LATTICE_TRY(const std::string text, TextOf(content, where + ".content"));
    if (!text.empty()) Answer()["reasoning_content"] = text;
    return true;
  }

  object& Answer() {
    if (!in_answer_) messages_.push_back({{"role", "assistant"}, {"content", ""}});
    in_answer_ = true;
    return messages_.back().get_object();
  }

  array& messages_;
  bool in_answer_ = false;
};

/// The messages, those of system and developer that they begin with as one: some templates take no
/// more than one.
array WithOneOpening(const array& messages) {
  const auto is_opening = [](const value& message) {
    const std::string_view role = StringAt(message.get_object(), "role");
    return role == "system" || role == "developer";
  };
  array out;
  for (const value& message : messages) {
    if (out.size() == 1 && is_opening(out[0]) && is_opening(message)) {
      auto& text = out[0].at("content").get_string();
      text += "\n\n";
      text += message.at("content").get_string();
    } else {
      out.push_back(message);
    }
  }
  return out;
}

ApiResult<bool> ReadInput(const value* input, array& messages) {
  if (input == nullptr || input->is_null()) return Bad("input", "is missing");
  if (const auto* text = input->if_string()) {
    messages.push_back({{"role", "user"}, {"content", *text}});
    return true;
  }
  const auto* items = input->if_array();
  if (items == nullptr) return Bad("input", "must be a string or an array of items");
  ItemReader reader(messages);
  for (std::size_t i = 0; i < items->size(); ++i) {
    LATTICE_TRY_VOID(reader.Read((*items)[i], "input[" + std::to_string(i) + "]"));
  }
  return true;
}

ApiResult<array> ReadTools(const value& json) {
  const auto* list = json.if_array();
  if (list == nullptr) return Bad("tools", "must be an array");
  array tools;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string where = "tools[" + std::to_string(i) + "]";
    const auto* tool = (*list)[i].if_object();
    if (tool == nullptr || StringAt(*tool, "type") != "function") {
      return Bad(where + ".type", "may only be \"function\": this server runs no tools itself");
    }
    object function;
    for (const char* key : {"name", "description", "parameters", "strict"}) {
      if (const value* found = tool->if_contains(key)) function[key] = *found;
    }
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

/// text.format: as response_format, but flat.
ApiResult<bool> ReadFormat(const object& text, object& chat) {
  for (const auto& member : text) {
    if (member.key() != "format" && member.key() != "verbosity") {
      return Bad("text." + std::string(std::string_view(member.key()).substr(0, 100)),
                 "is not a field of this route", "unsupported_parameter");
    }
  }
  const value* found = text.if_contains("format");
  if (found == nullptr || found->is_null()) return true;
  const auto* format = found->if_object();
  if (format == nullptr) return Bad("text.format", "must be an object");
  if (StringAt(*format, "type") != "json_schema") {
    chat["response_format"] = *format;
    return true;
  }
  object schema = *format;
  schema.erase("type");
  chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  return true;
}

ApiResult<bool> ReadInclude(const value& include) {
  const auto* list = include.if_array();
  if (list == nullptr) return Bad("include", "must be an array");
  for (const value& one : *list) {
    if (one != "reasoning.encrypted_content") {
      return Bad("include", "asks for what this server does not have", "unsupported_parameter");
    }
  }
  return true;
}

/// "tool_choice": a function is named without an object around its name.
value ToolChoice(const value& choice) {
  const auto* object_choice = choice.if_object();
  if (object_choice == nullptr || !object_choice->contains("name")) return choice;
  return {{"type", "function"}, {"function", {{"name", object_choice->at("name")}}}};
}

void Copy(FieldReader& reader, std::string_view from, std::string_view to, object& chat) {
  if (const value* found = reader.Find(from)) chat[to] = *found;
}

/// What a response repeats of its request.
object Echo(const object& body) {
  object echo;
  const std::pair<const char*, value> members[] = {
      {"instructions", nullptr},
      {"max_output_tokens", nullptr},
      {"metadata", object()},
      {"parallel_tool_calls", true},
      {"previous_response_id", nullptr},
      {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
      {"store", true},
      {"temperature", 1.0},
      {"text", {{"format", {{"type", "text"}}}}},
      {"tool_choice", "auto"},
      {"tools", array()},
      {"top_p", 1.0},
      {"truncation", "disabled"}};
  for (const auto& [key, otherwise] : members) {
    const value* found = body.if_contains(key);
    echo[key] = found == nullptr || found->is_null() ? otherwise : *found;
  }
  return echo;
}

}  // namespace

ApiResult<ResponseRequest> ReadResponseRequest(const object& body, ResponseStore& store) {
  ResponseRequest request;
  FieldReader reader(body);
  const auto instructions = reader.String("instructions");
  const auto previous = reader.String("previous_response_id");
  const object* text = reader.Object("text");
  const object* reasoning = reader.Object("reasoning");
  (void)reader.Object("metadata");
  request.store = reader.Bool("store").value_or(true);
  for (const std::string_view key : kRefused) {
    const value* found = reader.Find(key);
    if (found == nullptr || *found == false || *found == 0) continue;
    reader.Complain(key, "asks for what this server does not have", "unsupported_parameter");
  }
  reader.RefuseOthers({kNames, kRefused});
  if (!reader.ok()) return reader.error();
  if (previous) {
    const auto kept = store.Get(*previous);
    if (kept == nullptr) {
      return Bad("previous_response_id", "is not known, or no longer",
                 "previous_response_not_found");
    }
    request.conversation = kept->messages;
  }
  LATTICE_TRY_VOID(ReadInput(body.if_contains("input"), request.conversation));
  array messages;
  if (instructions) messages.push_back({{"role", "system"}, {"content", *instructions}});
  messages.insert(messages.end(), request.conversation.begin(), request.conversation.end());
  object& chat = request.chat;
  chat["messages"] = WithOneOpening(messages);
  for (const char* key :
       {"model", "temperature", "top_p", "top_k", "min_p", "seed", "stream", "parallel_tool_calls",
        "enable_thinking", "reasoning_budget", "chat_template_kwargs"}) {
    Copy(reader, key, key, chat);
  }
  Copy(reader, "max_output_tokens", "max_completion_tokens", chat);
  if (const value* tools = reader.Find("tools")) {
    LATTICE_TRY(chat["tools"], ReadTools(*tools));
  }
  if (const value* choice = reader.Find("tool_choice")) chat["tool_choice"] = ToolChoice(*choice);
  if (text != nullptr) {
    LATTICE_TRY_VOID(ReadFormat(*text, chat));
  }
  if (const value* include = reader.Find("include")) {
    LATTICE_TRY_VOID(ReadInclude(*include));
  }
  if (reasoning != nullptr && reasoning->contains("effort")) {
    chat["reasoning_effort"] = reasoning->at("effort");
  }
  request.echo = Echo(body);
  return request;
}

}  // namespace lattice::server
