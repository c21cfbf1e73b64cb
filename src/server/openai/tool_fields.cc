#include "server/openai/tool_fields.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <utility>

#include "chat/tools/call_reader.h"
#include "chat/tools/typed_value.h"

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
  const auto* strict = inner.if_contains("strict");
  if (strict != nullptr && !strict->is_bool() && !strict->is_null()) {
    reader.Complain(where + ".function.strict", "must be true or false");
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

/// What may be called by this choice; empty: there is nothing that must be.
std::set<std::string> ReadChoice(const boost::json::value& choice,
                                 const std::set<std::string>& names, FieldReader& reader) {
  if (choice == "auto" || choice == "none") return {};
  const auto name = NamedTool(choice);
  if (name && names.contains(*name)) return {*name};
  if (name) {
    reader.Complain("tool_choice", "names a tool that is not among 'tools'");
  } else if (choice != "required") {
    reader.Complain("tool_choice", "must be none, auto, required or name a function");
  } else if (names.empty()) {
    reader.Complain("tool_choice", "needs 'tools'");
  } else {
    return names;
  }
  return {};
}

/// {KEY: [TYPE, ...], ...}: what a reader of calls takes the arguments for.
boost::json::object TypesOf(const boost::json::object& parameters) {
  boost::json::object types;
  const auto* properties = parameters.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return types;
  for (const auto& property : properties->get_object()) {
    boost::json::array names;
    for (const std::string_view name : chat::ArgumentTypes(property.key(), &parameters)) {
      names.emplace_back(name);
    }
    types[property.key()] = std::move(names);
  }
  return types;
}

/// {"name", "parameters", "strict"}, and if asked for "types", of each tool that may be called,
/// once they are checked.
boost::json::array Offered(const boost::json::array& tools, const std::set<std::string>& names,
                           bool with_types) {
  boost::json::array offered;
  for (const boost::json::value& tool : tools) {
    const boost::json::object& function = tool.at("function").as_object();
    if (!names.contains(std::string(function.at("name").as_string()))) continue;
    const boost::json::value* strict = function.if_contains("strict");
    boost::json::object one = {{"name", function.at("name")},
                               {"parameters", function.at("parameters")},
                               {"strict", strict != nullptr && *strict == true}};
    if (with_types) one["types"] = TypesOf(function.at("parameters").as_object());
    offered.push_back(std::move(one));
  }
  return offered;
}

/// As grammar/json_schema/tool_calls.h has it.
const char* NameOf(chat::CallForm form) {
  switch (form) {
    case chat::CallForm::kHermes:
      return "hermes";
    case chat::CallForm::kXml:
      return "xml";
    case chat::CallForm::kLlama:
      return "llama";
    case chat::CallForm::kGemma:
      return "gemma";
    case chat::CallForm::kMistral:
      break;
  }
  return "mistral";
}

void HoldTo(const std::set<std::string>& names, const std::set<std::string>& chosen,
            const ChatAbilities& abilities, ToolFields& fields) {
  fields.must_call = !chosen.empty();
  const char* const form = fields.must_call ? "call" : NameOf(*abilities.calls);
  const bool one_by_one = !fields.must_call && abilities.calls == chat::CallForm::kXml;
  boost::json::array offered =
      Offered(*fields.tools, fields.must_call ? chosen : names, one_by_one);
  const bool is_held = fields.must_call || std::ranges::any_of(offered, [](const auto& tool) {
                         return tool.at("strict").as_bool();
                       });
  if (!is_held) return;
  boost::json::array control_marks(abilities.control_marks.begin(), abilities.control_marks.end());
  fields.calls = serialize(boost::json::object{{"form", form},
                                               {"parallel", fields.parallel},
                                               {"control_marks", std::move(control_marks)},
                                               {"tools", std::move(offered)}});
}

}  // namespace

ToolFields ReadToolFields(FieldReader& reader, const ChatAbilities& abilities) {
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
  std::set<std::string> chosen;
  if (choice != nullptr) chosen = ReadChoice(*choice, names, reader);
  if (choice != nullptr && *choice == "none") fields.tools.reset();
  if (fields.tools && reader.ok() && abilities.calls) HoldTo(names, chosen, abilities, fields);
  if (fields.tools && !abilities.calls) {
    reader.Complain("tools",
                    "cannot be called by this model: its chat template shows none, or has them "
                    "called in a way that this server does not read",
                    "unsupported_parameter");
  }
  return fields;
}

}  // namespace lattice::server
