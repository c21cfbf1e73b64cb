#include "server/anthropic/messages_request.h"

#include <boost/json/array.hpp>
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
    "model", "messages", "max_tokens", "system", "temperature", "top_p", "top_k", "stop_sequences",
    "stream", "tools", "tool_choice", "thinking",
    // Without influence on the answer.
    "metadata", "service_tier", "cache_control", "context_management", "output_config", "container",
    "inference_geo"};
constexpr std::string_view kRefused[] = {"thread"};

ApiError Bad(const std::string& where, const std::string& what) {
  return {.message = where + ": " + what, .param = where, .code = "invalid_value"};
}

std::string_view StringAt(const object& from, std::string_view key) {
  const value* found = from.if_contains(key);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_string();
}

/// A text, or blocks of text: joined.
ApiResult<std::string> TextOf(const value& content, const std::string& where) {
  if (const auto* text = content.if_string()) return std::string(*text);
  const auto* blocks = content.if_array();
  if (blocks == nullptr) return Bad(where, "must be a string or an array of blocks");
  std::string joined;
  for (const value& block : *blocks) {
    const auto* inner = block.if_object();
    if (inner == nullptr || StringAt(*inner, "type") != "text") {
      return Bad(where, "may only have blocks of type \"text\" here");
    }
    joined += StringAt(*inner, "text");
  }
  return joined;
}

/// Messages of chat/completions that come of one message's blocks: results of tools first.
struct Turn {
  std::string role, text, thinking;
  array calls, results;
  bool has_text = false;

  void AddText(std::string_view more) {
    has_text = true;
    text += more;
  }
};

ApiResult<bool> AddResult(const object& block, const std::string& where, Turn& turn) {
  const std::string_view id = StringAt(block, "tool_use_id");
  if (id.empty()) return Bad(where + ".tool_use_id", "is missing");
  std::string text;
  if (const value* content = block.if_contains("content"); content && !content->is_null()) {
    LATTICE_TRY(text, TextOf(*content, where + ".content"));
  }
  turn.results.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
  return true;
}

ApiResult<bool> AddUse(const object& block, const std::string& where, Turn& turn) {
  if (StringAt(block, "id").empty()) return Bad(where + ".id", "is missing");
  if (StringAt(block, "name").empty()) return Bad(where + ".name", "is missing");
  const value* input = block.if_contains("input");
  if (input != nullptr && !input->is_object()) return Bad(where + ".input", "must be an object");
  turn.calls.push_back({{"id", StringAt(block, "id")},
                        {"type", "function"},
                        {"function",
                         {{"name", StringAt(block, "name")},
                          {"arguments", input == nullptr ? value(object()) : *input}}}});
  return true;
}

ApiResult<bool> AddBlock(const value& json, const std::string& where, Turn& turn) {
  const auto* block = json.if_object();
  if (block == nullptr) return Bad(where, "must be an object");
  const std::string_view type = StringAt(*block, "type");
  const bool of_user = turn.role == "user";
  if (type == "text") {
    turn.AddText(StringAt(*block, "text"));
    return true;
  }
  if (type == "tool_result" && of_user) return AddResult(*block, where, turn);
  if (type == "tool_use" && !of_user) return AddUse(*block, where, turn);
  if (type == "thinking" && !of_user) {
    turn.thinking += StringAt(*block, "thinking");
    return true;
  }
  if (type == "redacted_thinking" && !of_user) return true;
  return Bad(where + ".type", "is not one that this model reads in this place");
}

ApiResult<Turn> ReadTurn(const value& json, const std::string& where) {
  Turn turn;
  const auto* message = json.if_object();
  if (message == nullptr) return Bad(where, "must be an object");
  turn.role = StringAt(*message, "role");
  if (turn.role != "user" && turn.role != "assistant") {
    return Bad(where + ".role", "must be user or assistant");
  }
  const value* content = message->if_contains("content");
  if (content == nullptr) return Bad(where + ".content", "is missing");
  if (const auto* text = content->if_string()) {
    turn.AddText(std::string_view(*text));
    return turn;
  }
  const auto* blocks = content->if_array();
  if (blocks == nullptr) return Bad(where + ".content", "must be a string or an array of blocks");
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    LATTICE_TRY_VOID(AddBlock((*blocks)[i], where + ".content[" + std::to_string(i) + "]", turn));
  }
  return turn;
}

/// Messages of one role that follow each other are one.
void Merge(Turn more, Turn& turn) {
  if (more.has_text) turn.AddText((turn.has_text ? "\n\n" : "") + more.text);
  turn.thinking += more.thinking;
  for (auto& call : more.calls) turn.calls.push_back(std::move(call));
  for (auto& result : more.results) turn.results.push_back(std::move(result));
}

void Append(Turn turn, array& messages) {
  for (auto& result : turn.results) messages.push_back(std::move(result));
  if (turn.role == "user") {
    if (turn.has_text || turn.results.empty()) {
      messages.push_back({{"role", "user"}, {"content", turn.text}});
    }
    return;
  }
  object message = {{"role", "assistant"}, {"content", turn.text}};
  if (!turn.thinking.empty()) message["reasoning_content"] = turn.thinking;
  if (!turn.calls.empty()) message["tool_calls"] = std::move(turn.calls);
  messages.push_back(std::move(message));
}

ApiResult<array> ReadTurns(const object& body) {
  array messages;
  if (const value* system = body.if_contains("system"); system && !system->is_null()) {
    LATTICE_TRY(const std::string text, TextOf(*system, "system"));
    if (!text.empty()) messages.push_back({{"role", "system"}, {"content", text}});
  }
  const value* list = body.if_contains("messages");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) {
    return Bad("messages", "must be an array of at least one message");
  }
  std::optional<Turn> last;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    LATTICE_TRY(Turn turn, ReadTurn(list->get_array()[i], "messages[" + std::to_string(i) + "]"));
    if (last && last->role == turn.role) {
      Merge(std::move(turn), *last);
      continue;
    }
    if (last) Append(*std::move(last), messages);
    last = std::move(turn);
  }
  Append(*std::move(last), messages);
  return messages;
}

ApiResult<array> ReadTools(const value& json) {
  const auto* list = json.if_array();
  if (list == nullptr) return Bad("tools", "must be an array");
  array tools;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string where = "tools[" + std::to_string(i) + "]";
    const auto* tool = (*list)[i].if_object();
    if (tool == nullptr) return Bad(where, "must be an object");
    const std::string_view type = StringAt(*tool, "type");
    if (!type.empty() && type != "custom") {
      return Bad(where + ".type", "may only be \"custom\": this server runs no tools itself");
    }
    object function;
    for (const auto& [from, to] :
         {std::pair("name", "name"), std::pair("description", "description"),
          std::pair("input_schema", "parameters")}) {
      if (const value* found = tool->if_contains(from)) function[to] = *found;
    }
    tools.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return tools;
}

ApiResult<bool> ReadToolChoice(const object& choice, object& chat) {
  const std::string_view type = StringAt(choice, "type");
  if (type == "auto" || type == "none") {
    chat["tool_choice"] = type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else if (type == "tool") {
    chat["tool_choice"] = {{"type", "function"},
                           {"function", {{"name", StringAt(choice, "name")}}}};
  } else {
    return Bad("tool_choice.type", "must be auto, any, tool or none");
  }
  const value* single = choice.if_contains("disable_parallel_tool_use");
  if (single != nullptr && *single == true) chat["parallel_tool_calls"] = false;
  return true;
}

ApiResult<bool> ReadThinking(const object& thinking, object& chat) {
  const std::string_view type = StringAt(thinking, "type");
  if (type == "disabled") {
    chat["enable_thinking"] = false;
  } else if (type == "enabled") {
    chat["enable_thinking"] = true;
    if (const value* budget = thinking.if_contains("budget_tokens")) {
      chat["reasoning_budget"] = *budget;
    }
  } else if (type != "adaptive") {
    return Bad("thinking.type", "must be enabled, disabled or adaptive");
  }
  return true;
}

}  // namespace

ApiResult<object> ChatBodyOfMessages(const object& body, bool counts_only) {
  FieldReader reader(body);
  const object* choice = reader.Object("tool_choice");
  const object* thinking = reader.Object("thinking");
  if (!counts_only && reader.Find("max_tokens") == nullptr) {
    reader.Complain("max_tokens", "is missing");
  }
  for (const std::string_view key : kRefused) {
    if (reader.Find(key) == nullptr) continue;
    reader.Complain(key, "asks for a conversation that the server keeps: send all its messages",
                    kNoThreads);
  }
  reader.RefuseOthers({kNames, kRefused});
  if (!reader.ok()) return reader.error();
  object chat;
  LATTICE_TRY(chat["messages"], ReadTurns(body));
  for (const char* key : {"model", "max_tokens", "temperature", "top_p", "top_k", "stream"}) {
    if (const value* found = reader.Find(key)) chat[key] = *found;
  }
  if (const value* stops = reader.Find("stop_sequences")) {
    if (!stops->is_array()) return Bad("stop_sequences", "must be an array");
    if (!stops->get_array().empty()) chat["stop"] = *stops;
  }
  if (const value* tools = reader.Find("tools")) {
    LATTICE_TRY(chat["tools"], ReadTools(*tools));
  }
  if (choice != nullptr) {
    LATTICE_TRY_VOID(ReadToolChoice(*choice, chat));
  }
  if (thinking != nullptr) {
    LATTICE_TRY_VOID(ReadThinking(*thinking, chat));
  }
  return chat;
}

}  // namespace lattice::server
