#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lattice/result.h"

namespace lattice::chat {

/// A function that the model asked to be called. `arguments` as the message has them: JSON in a
/// string, or the object itself written as JSON.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
};

/// One message of a conversation. It keeps the JSON object that a template sees (roles, content,
/// reasoning_content, tool_calls and whatever else a client sends, in its order); the accessors
/// read it.
class Message {
 public:
  /// A message in the shape of OpenAI's chat API:
  ///   role          string, required
  ///   content       string, null, absent, or an array of parts {"type": "text", "text": ...},
  ///                 {"type": "image_url", ...}, ...
  ///   reasoning_content (or reasoning)  string or null
  ///   tool_calls    array of {"id", "type", "function": {"name", "arguments"}}
  ///   tool_call_id  string; required by role "tool"
  /// kInvalidArgument names the place and what is wrong with it.
  static Result<Message> FromJson(const JsonView& json);

  /// An object that nobody checked, for a template to judge.
  explicit Message(boost::json::object json) : json_(std::move(json)) {}

  static Message System(std::string_view text);
  static Message User(std::string_view text);
  /// An empty reasoning is left out.
  static Message Assistant(std::string_view text, std::string_view reasoning = "");
  static Message ToolResult(std::string_view call_id, std::string_view name, std::string_view text);

  std::string_view role() const { return StringAt("role"); }
  /// The content; of parts, the texts one after the other without separator.
  std::string text() const;
  std::string_view reasoning() const;
  std::vector<ToolCall> tool_calls() const;
  std::string_view tool_call_id() const { return StringAt("tool_call_id"); }

  /// The same with the arguments of its tool calls as objects, where they are JSON objects in
  /// strings.
  Message WithParsedArguments() const;

  const boost::json::object& json() const { return json_; }

 private:
  std::string_view StringAt(std::string_view key) const;  // empty when there is no such string

  boost::json::object json_;
};

struct Conversation {
  std::vector<Message> messages;
  /// Tools that the model may call, as OpenAI's API describes them; absent: none are offered.
  std::optional<boost::json::array> tools;
};

/// {"messages": [...], "tools": [...]}: checked messages. kInvalidArgument names the place.
Result<Conversation> ConversationFromJson(const JsonView& json);

}  // namespace lattice::chat
