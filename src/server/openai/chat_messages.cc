#include "server/openai/chat_messages.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/sha256.h"

namespace lattice::server {
namespace {

constexpr std::string_view kRoles[] = {"developer", "system", "user",
                                       "assistant", "tool",   "function"};
constexpr std::size_t kShortIdBytes = 9;

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

/// What clients send of an answer that they got before.
void TidyAnswer(boost::json::object& message) {
  for (const char* key : {"refusal", "tool_calls", "function_call", "audio", "annotations",
                          "reasoning", "reasoning_content"}) {
    const auto* value = message.if_contains(key);
    if (value == nullptr) continue;
    const bool empty = value->is_array() && value->get_array().empty();
    if (value->is_null() || empty) message.erase(key);
  }
  if (!message.contains("reasoning_content") && message.contains("reasoning")) {
    boost::json::value reasoning = message.at("reasoning");  // A new member moves the others.
    message["reasoning_content"] = std::move(reasoning);
  }
}

/// Ids of the calls that an answer makes are added to `ids`.
ApiResult<bool> ReadCalls(boost::json::object& message, const std::string& where,
                          const ChatAbilities& abilities, std::set<std::string>& ids) {
  auto* calls = message.if_contains("tool_calls");
  if (calls == nullptr) return true;
  auto& list = calls->get_array();  // Message::FromJson has seen to all of it but the ids
  for (std::size_t i = 0; i < list.size(); ++i) {
    boost::json::object& call = list[i].get_object();
    auto* id = call.if_contains("id");
    if (id == nullptr || !id->is_string() || id->get_string().empty()) {
      return BadMessages(where + ".tool_calls[" + std::to_string(i) + "].id: is missing");
    }
    if (abilities.short_call_ids) *id = ShortCallId(id->get_string());
    ids.insert(std::string(id->get_string()));
    boost::json::value& arguments = call["function"].get_object()["arguments"];
    if (arguments.is_null() || arguments == "") arguments = "{}";
  }
  return true;
}

ApiResult<bool> ReadCallId(boost::json::object& message, const std::string& where,
                           const ChatAbilities& abilities, const std::set<std::string>& ids) {
  auto& id = message["tool_call_id"];
  if (!id.is_string() || id.get_string().empty()) {
    return BadMessages(where + ".tool_call_id: is missing");
  }
  if (abilities.short_call_ids) id = ShortCallId(id.get_string());
  if (ids.contains(std::string(id.get_string()))) return true;
  return BadMessages(where + ".tool_call_id: no call before it has this id");
}

ApiResult<chat::Message> ReadMessage(const JsonView& json, const ChatAbilities& abilities,
                                     std::set<std::string>& ids) {
  const std::string& where = json.where();
  if (const auto* object = json.value().if_object()) {
    const auto* role = object->if_contains("role");
    const auto* id = object->if_contains("tool_call_id");
    if (role != nullptr && *role == "tool" && (id == nullptr || id->is_null())) {
      return BadMessages(where + ".tool_call_id: is missing");
    }
  }
  auto checked = chat::Message::FromJson(json);
  if (!checked) return BadMessages(std::move(checked).error().message);
  boost::json::object message = checked->json();
  for (const char* key : {"name", "reasoning_content"}) {
    const auto* text = message.if_contains(key);
    if (text == nullptr || text->is_string() || text->is_null()) continue;
    return BadMessages(where + "." + key + ": must be a string");
  }
  const std::string role(checked->role());
  if (std::ranges::find(kRoles, role) == std::end(kRoles)) {
    return BadMessages(where +
                       ".role: must be system, developer, user, assistant, tool or function");
  }
  if (role == "assistant") {
    TidyAnswer(message);
    LATTICE_TRY_VOID(ReadCalls(message, where, abilities, ids));
  }
  if (role == "tool") {
    LATTICE_TRY_VOID(ReadCallId(message, where, abilities, ids));
  }
  const boost::json::value* content = message.if_contains("content");
  const bool empty = content == nullptr || content->is_null();
  if (empty && role != "assistant") return BadMessages(where + ".content: is missing");
  if (empty) {
    message["content"] = "";
  } else {
    LATTICE_TRY(message["content"], JoinedContent(*content, where));
  }
  if (role == "developer" && !abilities.knows_developer) message["role"] = "system";
  return chat::Message(std::move(message));
}

}  // namespace

ApiResult<std::vector<chat::Message>> ReadMessages(const boost::json::object& body,
                                                   const ChatAbilities& abilities) {
  const boost::json::value* list = body.if_contains("messages");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return BadMessages("messages: must be an array of at least one message");
  }
  const JsonView view(*list, "messages");
  auto items = view.Array();
  std::vector<chat::Message> messages;
  std::set<std::string> ids;
  for (const JsonView& item : *items) {
    LATTICE_TRY(chat::Message message, ReadMessage(item, abilities, ids));
    messages.push_back(std::move(message));
  }
  return messages;
}

std::string ShortCallId(std::string_view id) {
  const bool fits =
      id.size() == kShortIdBytes && std::ranges::all_of(id, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      });
  if (fits) return std::string(id);
  Sha256 sha;
  sha.Update(id);
  return ToHex(sha.Finish()).substr(0, kShortIdBytes);
}

}  // namespace lattice::server
