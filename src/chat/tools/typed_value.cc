#include "chat/tools/typed_value.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "chat/tools/json_call.h"

namespace lattice::chat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr int kMaxDepth = 8;  // of references and alternatives in a schema

/// Which types a schema lets a value have.
struct Types {
  bool string = false, integer = false, number = false, boolean = false, null = false;
  bool array = false, object = false;
  bool any() const { return string || integer || number || boolean || null || array || object; }

  void Add(std::string_view name) {
    if (name == "string") string = true;
    if (name == "integer") integer = true;
    if (name == "number") number = true;
    if (name == "boolean") boolean = true;
    if (name == "null") null = true;
    if (name == "array") array = true;
    if (name == "object") object = true;
  }
  void AddTypeOf(const boost::json::value& value) {
    if (value.is_string()) string = true;
    if (value.is_number()) number = true;
    if (value.is_bool()) boolean = true;
    if (value.is_null()) null = true;
    if (value.is_array()) array = true;
    if (value.is_object()) object = true;
  }
  bool Allow(const boost::json::value& value) const {
    if (value.is_string()) return string;
    if (value.is_bool()) return boolean;
    if (value.is_null()) return null;
    if (value.is_array()) return array;
    if (value.is_object()) return object;
    if (number) return true;
    const double* real = value.if_double();
    return integer && (real == nullptr || std::trunc(*real) == *real);
  }
};

const boost::json::value* Resolve(const boost::json::object& root, std::string_view reference) {
  if (!reference.starts_with("#/")) return nullptr;
  const boost::json::value* at = nullptr;
  const boost::json::object* object = &root;
  reference.remove_prefix(2);
  while (object != nullptr) {
    const std::size_t slash = std::min(reference.find('/'), reference.size());
    at = object->if_contains(reference.substr(0, slash));
    if (slash == reference.size() || at == nullptr) return at;
    object = at->if_object();
    reference.remove_prefix(slash + 1);
  }
  return nullptr;
}

void Collect(const boost::json::object& root, const boost::json::value* schema, int depth,
             Types& types) {
  const auto* object = schema == nullptr ? nullptr : schema->if_object();
  if (object == nullptr || depth == kMaxDepth) return;
  if (const auto* type = object->if_contains("type")) {
    if (type->is_string()) types.Add(type->get_string());
    if (const auto* list = type->if_array()) {
      for (const auto& name : *list) {
        if (name.is_string()) types.Add(name.get_string());
      }
    }
    return;
  }
  if (const auto* value = object->if_contains("const")) types.AddTypeOf(*value);
  if (const auto* values = object->if_contains("enum"); values != nullptr && values->is_array()) {
    for (const auto& value : values->get_array()) types.AddTypeOf(value);
  }
  if (const auto* reference = object->if_contains("$ref");
      reference != nullptr && reference->is_string()) {
    Collect(root, Resolve(root, reference->get_string()), depth + 1, types);
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const auto* list = object->if_contains(key);
    if (list == nullptr || !list->is_array()) continue;
    for (const auto& one : list->get_array()) Collect(root, &one, depth + 1, types);
  }
}

Types TypesOf(std::string_view key, const boost::json::object* parameters) {
  Types types;
  const auto* all = parameters == nullptr ? nullptr : parameters->if_contains("properties");
  const auto* properties = all == nullptr ? nullptr : all->if_object();
  if (properties == nullptr) return types;
  Collect(*parameters, properties->if_contains(key), 0, types);
  return types;
}

/// JSON, or what Python calls its literals.
std::string_view Literal(std::string_view text) {
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text == "None") return "null";
  return text;
}

}  // namespace

std::string TypedValue(std::string_view text, std::string_view key,
                       const boost::json::object* parameters) {
  const Types types = TypesOf(key, parameters);
  std::string_view bare = text;
  bare.remove_prefix(std::min(bare.find_first_not_of(kSpace), bare.size()));
  bare = bare.substr(0, bare.find_last_not_of(kSpace) + 1);
  const std::string_view literal = types.any() ? Literal(bare) : bare;
  const auto value = ParseJson(literal);
  // Of a string's quotes nobody knows whose they are: they belong to the text.
  if (!value || value->is_string()) return JsonQuoted(text);
  if (types.any() && !types.Allow(*value)) return JsonQuoted(text);
  return std::string(literal);
}

std::vector<std::string_view> ArgumentTypes(std::string_view key,
                                            const boost::json::object* parameters) {
  const Types types = TypesOf(key, parameters);
  std::vector<std::string_view> names;
  const auto add = [&names](bool is_allowed, std::string_view name) {
    if (is_allowed) names.push_back(name);
  };
  add(types.string, "string");
  add(types.integer, "integer");
  add(types.number, "number");
  add(types.boolean, "boolean");
  add(types.null, "null");
  add(types.array, "array");
  add(types.object, "object");
  return names;
}

}  // namespace lattice::chat
