#include "server/ollama/ollama_request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/openai/field_reader.h"

namespace lattice::server {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr std::string_view kCommon[] = {"model", "stream",     "format", "options",
                                        "think", "keep_alive", "images"};
constexpr std::string_view kOfChat[] = {"messages", "tools"};
constexpr std::string_view kOfGenerate[] = {"prompt",   "system", "suffix",
                                            "template", "raw",    "context"};

/// Options by their names here and in chat/completions.
constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
    {"temperature", "temperature"},
    {"top_p", "top_p"},
    {"top_k", "top_k"},
    {"min_p", "min_p"},
    {"typical_p", "typical_p"},
    {"repeat_penalty", "repeat_penalty"},
    {"presence_penalty", "presence_penalty"},
    {"frequency_penalty", "frequency_penalty"},
    {"seed", "seed"},
    {"stop", "stop"}};
/// Without influence: how a model is loaded, and what this sampler does not have.
constexpr std::string_view kIgnoredOptions[] = {
    "num_ctx",    "num_batch", "num_gpu",      "main_gpu",     "num_thread",       "num_keep",
    "use_mmap",   "use_mlock", "numa",         "low_vram",     "vocab_only",       "f16_kv",
    "logits_all", "tfs_z",     "mirostat_eta", "mirostat_tau", "penalize_newline", "repeat_last_n"};

ApiError Bad(const std::string& where, const std::string& what) {
  return {.message = where + ": " + what, .param = where, .code = "invalid_value"};
}

std::string_view StringAt(const object& from, std::string_view key) {
  const value* found = from.if_contains(key);
  if (found == nullptr || !found->is_string()) return {};
  return found->get_string();
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

ApiResult<bool> ReadOptions(const object& options, object& chat) {
  for (const auto& [name, option] : options) {
    const std::string_view key(name.data(), name.size());
    if (option.is_null()) continue;
    const auto* known =
        std::ranges::find(kOptions, key, &std::pair<std::string_view, std::string_view>::first);
    if (known != std::end(kOptions)) {
      chat[known->second] = option;
    } else if (key == "num_predict") {
      const auto n = ExactInt(option);
      if (!n || (*n < 1 && *n != -1 && *n != -2)) {
        return Bad("options.num_predict", "must be a positive integer, or -1 for no limit");
      }
      if (*n > 0) chat["max_tokens"] = *n;
    } else if (key == "mirostat") {
      if (option != 0) return Bad("options.mirostat", "asks for what this server does not have");
    } else if (!Contains(kIgnoredOptions, key)) {
      return Bad("options." + std::string(key.substr(0, 100)), "is not an option of this server");
    }
  }
  return true;
}

ApiResult<bool> ReadFormat(const value& format, object& chat) {
  if (format.is_null() || format == "") return true;
  if (format == "json") {
    chat["response_format"] = {{"type", "json_object"}};
    return true;
  }
  if (!format.is_object()) return Bad("format", "must be \"json\" or a JSON schema");
  chat["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"name", "format"}, {"schema", format}}}};
  return true;
}

ApiResult<object> ReadCommon(const object& body, std::span<const std::string_view> more) {
  FieldReader reader(body);
  const object* options = reader.Object("options");
  const auto model = reader.String("model");
  if (!model) reader.Complain("model", "is missing");
  object chat = {{"stream", reader.Bool("stream").value_or(true)}};
  const value* images = reader.Find("images");
  if (images != nullptr && !(images->is_array() && images->get_array().empty())) {
    reader.Complain("images", "are not read by this server", "unsupported_parameter");
  }
  if (const value* think = reader.Find("think")) {
    if (think->is_string()) {
      chat["reasoning_effort"] = *think;
    } else if (const auto on = reader.Bool("think")) {
      chat["enable_thinking"] = *on;
    }
  }
  reader.RefuseOthers({kCommon, more});
  if (!reader.ok()) return reader.error();
  chat["model"] = OllamaModelName(*model);
  if (options != nullptr) {
    LATTICE_TRY_VOID(ReadOptions(*options, chat));
  }
  if (const value* format = body.if_contains("format")) {
    LATTICE_TRY_VOID(ReadFormat(*format, chat));
  }
  return chat;
}

/// A call whose result has not come.
struct OpenCall {
  std::string id, name;
};

ApiResult<bool> NameCalls(object& message, const std::string& where, std::size_t& n_calls,
                          std::deque<OpenCall>& open) {
  value* calls = message.if_contains("tool_calls");
  if (calls == nullptr || calls->is_null()) return true;
  if (!calls->is_array()) return Bad(where + ".tool_calls", "must be an array");
  for (value& call : calls->get_array()) {
    if (!call.is_object()) return Bad(where + ".tool_calls", "must hold objects");
    object& inner = call.get_object();
    if (StringAt(inner, "id").empty()) inner["id"] = "call_" + std::to_string(n_calls++);
    inner["type"] = "function";
    const value* function = inner.if_contains("function");
    const auto* named = function == nullptr ? nullptr : function->if_object();
    open.push_back({std::string(StringAt(inner, "id")),
                    std::string(named == nullptr ? "" : StringAt(*named, "name"))});
  }
  return true;
}

ApiResult<bool> NameResult(object& message, const std::string& where, std::deque<OpenCall>& open) {
  const std::string_view id = StringAt(message, "tool_call_id");
  std::string_view name = StringAt(message, "tool_name");
  if (name.empty()) name = StringAt(message, "name");
  auto found = std::ranges::find_if(open, [&](const OpenCall& call) {
    return id.empty() ? name.empty() || call.name == name : call.id == id;
  });
  if (found == open.end() && id.empty() && !open.empty()) found = open.begin();
  if (found == open.end()) return Bad(where, "is the result of no call before it");
  message["tool_call_id"] = found->id;
  open.erase(found);
  return true;
}

ApiResult<array> ReadOllamaMessages(const value& json) {
  const auto* list = json.if_array();
  if (list == nullptr) return Bad("messages", "must be an array");
  array messages;
  std::deque<OpenCall> open;
  std::size_t n_calls = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string where = "messages[" + std::to_string(i) + "]";
    const auto* given = (*list)[i].if_object();
    if (given == nullptr) return Bad(where, "must be an object");
    object message = *given;
    const value* images = message.if_contains("images");
    if (images != nullptr && images->is_array() && !images->get_array().empty()) {
      return Bad(where + ".images", "are not read by this server");
    }
    message.erase("images");
    if (message.contains("thinking")) {
      value thinking = message.at("thinking");  // A new member moves the others.
      message["reasoning_content"] = std::move(thinking);
      message.erase("thinking");
    }
    if (StringAt(message, "role") == "assistant") {
      LATTICE_TRY_VOID(NameCalls(message, where, n_calls, open));
    } else if (StringAt(message, "role") == "tool") {
      LATTICE_TRY_VOID(NameResult(message, where, open));
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace

std::string OllamaModelName(std::string_view name) {
  constexpr std::string_view kTag = ":latest";
  if (name.ends_with(kTag)) name.remove_suffix(kTag.size());
  return std::string(name);
}

bool OnlyLoads(const object& body) {
  const value* messages = body.if_contains("messages");
  if (messages != nullptr) return messages->is_array() && messages->get_array().empty();
  return StringAt(body, "prompt").empty();
}

ApiResult<object> ChatBodyOfOllamaChat(const object& body) {
  LATTICE_TRY(object chat, ReadCommon(body, kOfChat));
  const value* messages = body.if_contains("messages");
  if (messages == nullptr) return Bad("messages", "is missing");
  LATTICE_TRY(chat["messages"], ReadOllamaMessages(*messages));
  if (const value* tools = body.if_contains("tools")) chat["tools"] = *tools;
  return chat;
}

ApiResult<object> ChatBodyOfOllamaGenerate(const object& body) {
  LATTICE_TRY(object chat, ReadCommon(body, kOfGenerate));
  FieldReader reader(body);
  const auto prompt = reader.String("prompt"), system = reader.String("system");
  for (const char* key : {"suffix", "template", "raw", "context"}) {
    const value* found = reader.Find(key);
    if (found == nullptr || *found == "" || *found == false || *found == array()) continue;
    reader.Complain(key,
                    "asks for what this server does not have; /v1/completions takes prompts "
                    "without a template",
                    "unsupported_parameter");
  }
  if (!reader.ok()) return reader.error();
  array messages;
  if (system && !system->empty()) {
    messages.push_back({{"role", "system"}, {"content", *system}});
  }
  messages.push_back({{"role", "user"}, {"content", prompt.value_or("")}});
  chat["messages"] = std::move(messages);
  return chat;
}

}  // namespace lattice::server
