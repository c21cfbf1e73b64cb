#include "server/openai/tool_fields.h"

#include <set>
#include <string>
#include <utility>

#include "chat/tools/call_reader.h"

namespace lattice::server {
namespace {

constexpr std::size_t kMaxTools = 128;

/// The tool's name; what is wrong with it is in the reader.
std::string CheckTool(boost::json::value& tool, const std::string& where, FieldReader& reader) {
  auto* object = tool.if_object();
  const auto* type = object == nullptr ? nullptr : object->if_contains("type");
  if (type == nullptr || *type != "function") {
    reader.Complain(where + ".type", "must be \"function\"");
    return {};
  }
  auto* function = object->if_contains("function");
  if (function == nullptr || !function->is_object()) {
    reader.Complain(where + ".function", "must be an object");
    return {};
  }
  boost::json::object& inner = function->get_object();
  const auto* name = inner.if_contains("name");
  if (name == nullptr || !name->is_string() ||
      !chat::IsCallName(std::string_view(name->get_string()))) {
    reader.Complain(where + ".function.name", "must be 1 to 128 letters, digits or _-.:/");
    return {};
  }
  const auto* description = inner.if_contains("description");
  if (description != nullptr && description->is_null()) {
    inner.erase("description");
  } else if (description != nullptr && !description->is_string()) {
    reader.Complain(where + ".function.description", "must be a string");
  }
  boost::json::value& parameters = inner["parameters"];
  if (parameters.is_null()) {
    parameters = {{"type", "object"}, {"properties", boost::json::object()}};
  }
  if (!parameters.is_object()) {
    reader.Complain(where + ".function.parameters", "must be a JSON schema, an object");
  }
  return std::string(inner.at("name").get_string());
}

std::set<std::string> CheckTools(boost::json::array& tools, FieldReader& reader) {
  std::set<std::string> names;
  if (tools.size() > kMaxTools) {
    reader.Complain("tools", "has more than " + std::to_string(kMaxTools) + " entries");
    return names;
  }
  for (std::size_t i = 0; i < tools.size() && reader.ok(); ++i) {
    const std::string where = "tools[" + std::to_string(i) + "]";
    if (!names.insert(CheckTool(tools[i], where, reader)).second) {
      reader.Complain(where + ".function.name", "is the name of an earlier tool");
    }
  }
  return names;
}

/// The name of {"type": "function", "function": {"name": ...}}.
std::optional<std::string> NamedTool(const boost::json::value& choice) {
  const auto* object = choice.if_object();
  const auto* function = object == nullptr ? nullptr : object->if_contains("function");
  if (function == nullptr || !function->is_object()) return std::nullopt;
  const auto* name = function->get_object().if_contains("name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  return std::string(name->get_string());
}

/// A call of one of the tools: {"name": NAME, "arguments": OBJECT}. Space stands where it is
/// written here and nowhere else, so that there is no endless run of it. Names need no escapes.
std::string CallGrammar(const std::set<std::string>& names) {
  std::string choices;
  for (const std::string& name : names) choices += (choices.empty() ? "\"" : " | \"") + name + "\"";
  return "name ::= " + choices + R"(
root ::= "{\"name\": \"" name "\", \"arguments\": " object "}"
object ::= "{" (member (", " member)*)? "}"
member ::= string ": " value
array ::= "[" (value (", " value)*)? "]"
value ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
)";
}

/// The grammar of the calls that a choice wants, if it wants any.
std::optional<std::string> ReadChoice(const boost::json::value& choice,
                                      const std::set<std::string>& names, FieldReader& reader) {
  if (choice == "auto" || choice == "none") return std::nullopt;
  const auto name = NamedTool(choice);
  if (name && names.contains(*name)) return CallGrammar({*name});
  if (name) {
    reader.Complain("tool_choice", "names a tool that is not among 'tools'");
  } else if (choice != "required") {
    reader.Complain("tool_choice", "must be none, auto, required or name a function");
  } else if (names.empty()) {
    reader.Complain("tool_choice", "needs 'tools'");
  } else {
    return CallGrammar(names);
  }
  return std::nullopt;
}

}  // namespace

ToolFields ReadToolFields(FieldReader& reader, bool can_call) {
  ToolFields fields;
  fields.parallel = reader.Bool("parallel_tool_calls").value_or(true);
  std::set<std::string> names;
  if (const boost::json::value* tools = reader.Find("tools")) {
    if (!tools->is_array()) {
      reader.Complain("tools", "must be an array", "invalid_type");
      return fields;
    }
    if (!tools->get_array().empty()) fields.tools = tools->get_array();
  }
  if (fields.tools) names = CheckTools(*fields.tools, reader);
  const boost::json::value* choice = reader.Find("tool_choice");
  if (choice != nullptr) fields.call_grammar = ReadChoice(*choice, names, reader);
  if (choice != nullptr && *choice == "none") fields.tools.reset();
  if (fields.tools && !can_call) {
    reader.Complain("tools",
                    "cannot be called by this model: its chat template shows none, or has them "
                    "called in a way that this server does not read",
                    "unsupported_parameter");
  }
  return fields;
}

}  // namespace lattice::server
