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
  if (description != nullptr && description->is_null()) inner.erase("description");
  if (description != nullptr && !description->is_null() && !description->is_string()) {
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

void CheckChoice(const boost::json::value& choice, const std::set<std::string>& names,
                 FieldReader& reader) {
  if (choice == "auto" || choice == "none") return;
  const auto name = NamedTool(choice);
  if (name && !names.contains(*name)) {
    return reader.Complain("tool_choice", "names a tool that is not among 'tools'");
  }
  if (name || choice == "required") {
    return reader.Complain("tool_choice",
                           "may only be \"none\" or \"auto\": this server cannot hold a model to a "
                           "call yet",
                           "unsupported_parameter");
  }
  reader.Complain("tool_choice", "must be none, auto, required or name a function");
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
  if (choice != nullptr) CheckChoice(*choice, names, reader);
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
