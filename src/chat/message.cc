#include "chat/message.h"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

namespace lattice::chat {
namespace {

Error AsArgument(Error error) {
  error.code = ErrorCode::kInvalidArgument;
  return error;
}

Status CheckString(const JsonView& object, std::string_view key, bool required) {
  const auto member = object.Find(key);
  if (!member && required) return AsArgument(object.Complain("missing '" + std::string(key) + "'"));
  if (!member || member->IsString()) return Ok();
  return AsArgument(member->Complain("expected a string"));
}

Status CheckContent(const JsonView& message) {
  const auto content = message.Find("content");
  if (!content || content->IsString()) return Ok();
  auto parts = content->Array();
  if (!parts) return AsArgument(content->Complain("expected a string or an array of parts"));
  for (const JsonView& part : *parts) {
    if (!part.IsObject()) return AsArgument(part.Complain("expected an object"));
    LATTICE_TRY_VOID(CheckString(part, "type", /*required=*/true));
    LATTICE_TRY_VOID(CheckString(part, "text", part.Find("type")->value() == "text"));
  }
  return Ok();
}

Status CheckToolCalls(const JsonView& message) {
  const auto calls = message.Find("tool_calls");
  if (!calls) return Ok();
  auto list = calls->Array();
  if (!list) return AsArgument(std::move(list).error());
  for (const JsonView& call : *list) {
    LATTICE_TRY_VOID(CheckString(call, "id", /*required=*/false));
    auto function = call.Get("function");
    if (!function) return AsArgument(std::move(function).error());
    LATTICE_TRY_VOID(CheckString(*function, "name", /*required=*/true));
    const auto arguments = function->Find("arguments");
    if (arguments && !arguments->IsString() && !arguments->IsObject()) {
      return AsArgument(arguments->Complain("expected a string of JSON or an object"));
    }
  }
  return Ok();
}

}  // namespace

Result<Message> Message::FromJson(const JsonView& json) {
  if (!json.IsObject()) return AsArgument(json.Complain("expected an object"));
  LATTICE_TRY_VOID(CheckString(json, "role", /*required=*/true));
  LATTICE_TRY_VOID(CheckContent(json));
  LATTICE_TRY_VOID(CheckString(json, "reasoning_content", /*required=*/false));
  LATTICE_TRY_VOID(CheckString(json, "reasoning", /*required=*/false));
  LATTICE_TRY_VOID(CheckToolCalls(json));
  LATTICE_TRY_VOID(
      CheckString(json, "tool_call_id", /*required=*/json.Find("role")->value() == "tool"));
  return Message(json.value().get_object());
}

Message Message::System(std::string_view text) {
  return Message(boost::json::object{{"role", "system"}, {"content", text}});
}

Message Message::User(std::string_view text) {
  return Message(boost::json::object{{"role", "user"}, {"content", text}});
}

Message Message::Assistant(std::string_view text, std::string_view reasoning) {
  boost::json::object json{{"role", "assistant"}, {"content", text}};
  if (!reasoning.empty()) json["reasoning_content"] = reasoning;
  return Message(std::move(json));
}

Message Message::ToolResult(std::string_view call_id, std::string_view name,
                            std::string_view text) {
  return Message(boost::json::object{
      {"role", "tool"}, {"tool_call_id", call_id}, {"name", name}, {"content", text}});
}

std::string_view Message::StringAt(std::string_view key) const {
  const boost::json::value* member = json_.if_contains(key);
  if (member == nullptr || !member->is_string()) return {};
  const auto& text = member->get_string();
  return {text.data(), text.size()};
}

std::string Message::text() const {
  std::string joined(StringAt("content"));
  const boost::json::value* content = json_.if_contains("content");
  if (content == nullptr || !content->is_array()) return joined;
  for (const auto& part : content->get_array()) {
    const auto* object = part.if_object();
    if (object != nullptr) joined += Message(*object).StringAt("text");
  }
  return joined;
}

std::string_view Message::reasoning() const {
  const std::string_view content = StringAt("reasoning_content");
  return content.empty() ? StringAt("reasoning") : content;
}

std::vector<ToolCall> Message::tool_calls() const {
  std::vector<ToolCall> calls;
  const boost::json::value* list = json_.if_contains("tool_calls");
  if (list == nullptr || !list->is_array()) return calls;
  for (const auto& entry : list->get_array()) {
    const auto* object = entry.if_object();
    const auto* function = object == nullptr ? nullptr : object->if_contains("function");
    if (function == nullptr || !function->is_object()) continue;
    const Message call(*object), inner(function->get_object());
    std::string arguments(inner.StringAt("arguments"));
    const auto* given = function->get_object().if_contains("arguments");
    if (given != nullptr && !given->is_string()) arguments = boost::json::serialize(*given);
    calls.push_back({std::string(call.StringAt("id")), std::string(inner.StringAt("name")),
                     std::move(arguments)});
  }
  return calls;
}

Message Message::WithParsedArguments() const {
  Message parsed = *this;
  boost::json::value* list = parsed.json_.if_contains("tool_calls");
  if (list == nullptr || !list->is_array()) return parsed;
  for (auto& call : list->get_array()) {
    auto* function = call.is_object() ? call.get_object().if_contains("function") : nullptr;
    if (function == nullptr || !function->is_object()) continue;
    auto* arguments = function->get_object().if_contains("arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    auto object = ParseJson({arguments->get_string().data(), arguments->get_string().size()});
    if (object && object->is_object()) *arguments = std::move(*object);
  }
  return parsed;
}

Result<Conversation> ConversationFromJson(const JsonView& json) {
  Conversation conversation;
  auto list = json.Get("messages");
  if (!list) return AsArgument(std::move(list).error());
  auto messages = list->Array();
  if (!messages) return AsArgument(std::move(messages).error());
  for (const JsonView& message : *messages) {
    LATTICE_TRY(Message checked, Message::FromJson(message));
    conversation.messages.push_back(std::move(checked));
  }
  if (const auto tools = json.Find("tools")) {
    if (!tools->IsArray()) return AsArgument(tools->Complain("expected an array"));
    conversation.tools = tools->value().get_array();
  }
  return conversation;
}

}  // namespace lattice::chat
