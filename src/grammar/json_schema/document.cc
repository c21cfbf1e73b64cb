#include "grammar/json_schema/document.h"

#include <array>
#include <charconv>
#include <optional>

#include "grammar/json_schema/uri.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

constexpr std::array kOneSchema = {"additionalProperties",
                                   "additionalItems",
                                   "items",
                                   "contains",
                                   "not",
                                   "if",
                                   "then",
                                   "else",
                                   "propertyNames",
                                   "unevaluatedItems",
                                   "unevaluatedProperties"};
constexpr std::array kSchemaLists = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::array kSchemaMaps = {"properties",  "patternProperties", "$defs",
                                    "definitions", "dependentSchemas",  "dependencies"};

std::string_view Text(const json::value& value) {
  return {value.get_string().data(), value.get_string().size()};
}

std::optional<std::string_view> TextMember(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return Text(*found);
}

Result<Dialect> DialectOf(std::string_view uri, const std::string& path) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (uri.starts_with(scheme)) uri.remove_prefix(scheme.size());
  }
  constexpr std::pair<std::string_view, Dialect> kKnown[] = {
      {"json-schema.org/draft-04/schema", Dialect::kDraft4},
      {"json-schema.org/draft-06/schema", Dialect::kDraft6},
      {"json-schema.org/draft-07/schema", Dialect::kDraft7},
      {"json-schema.org/draft/2019-09/schema", Dialect::k2019},
      {"json-schema.org/draft/2020-12/schema", Dialect::k2020},
      {"json-schema.org/schema", Dialect::k2020},
  };
  for (const auto& [name, dialect] : kKnown) {
    if (uri == name) return dialect;
  }
  return Error{ErrorCode::kUnsupported, path + "/$schema: this dialect is not known"};
}

}  // namespace

std::string PointerStep(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

Result<SchemaDocument> SchemaDocument::Read(const json::value& root, Dialect fallback) {
  static const json::value kTrue = true;
  SchemaDocument document;
  if (!root.is_object() && !root.is_bool()) {
    return Error{ErrorCode::kInvalidArgument, "#: a schema is an object or a boolean"};
  }
  document.resources_.push_back({"", &root, "#", fallback});
  document.resource_of_uri_[""] = 0;
  document.Intern(kTrue, false, 0, "#");
  if (root.is_object()) {
    if (const auto uri = TextMember(root.get_object(), "$schema")) {
      LATTICE_TRY(document.resources_[0].dialect, DialectOf(*uri, "#"));
    }
  }
  LATTICE_TRY_VOID(document.Walk(root, 0, "#"));
  document.root_ = document.Intern(root, false, document.resource_of_[&root], "#");
  return document;
}

Status SchemaDocument::Walk(const json::value& schema, std::uint32_t resource,
                            const std::string& path) {
  if (schema.is_object()) LATTICE_TRY_VOID(Register(schema, resource, path));
  resource_of_[&schema] = resource;
  return schema.is_object() ? WalkMembers(schema.get_object(), resource, path) : Ok();
}

Status SchemaDocument::Register(const json::value& schema, std::uint32_t& resource,
                                const std::string& path) {
  const json::object& object = schema.get_object();
  Dialect dialect = resources_[resource].dialect;
  const bool is_old = dialect <= Dialect::kDraft7;
  if (is_old && object.contains("$ref")) return Ok();  // Its neighbours say nothing.
  std::optional<std::string_view> id =
      TextMember(object, dialect == Dialect::kDraft4 ? "id" : "$id");
  if (id && is_old && id->starts_with('#')) {
    anchors_[resources_[resource].uri + std::string(*id)] = {&schema, resource, path};
    id.reset();
  }
  if (id) {
    if (const auto uri = TextMember(object, "$schema"); uri && path != "#") {
      LATTICE_TRY(dialect, DialectOf(*uri, path));
    }
    const std::string uri = ResolveUri(resources_[resource].uri, WithoutFragment(*id));
    resource = static_cast<std::uint32_t>(resources_.size());
    resources_.push_back({uri, &schema, path, dialect});
    resource_of_uri_.try_emplace(uri, resource);
  }
  for (const char* key : {"$anchor", "$dynamicAnchor"}) {
    const auto name = TextMember(object, key);
    if (!name || is_old) continue;
    const bool is_dynamic = key[1] == 'd';
    anchors_[resources_[resource].uri + "#" + std::string(*name)] = {&schema, resource, path,
                                                                     is_dynamic};
    if (is_dynamic) ++n_dynamic_anchors_[std::string(*name)];
  }
  return Ok();
}

Status SchemaDocument::WalkMembers(const json::object& schema, std::uint32_t resource,
                                   const std::string& path) {
  const auto is_schema = [](const json::value& v) { return v.is_object() || v.is_bool(); };
  for (const char* key : kOneSchema) {
    const json::value* found = schema.if_contains(key);
    if (found != nullptr && is_schema(*found)) {
      LATTICE_TRY_VOID(Walk(*found, resource, path + "/" + key));
    }
  }
  for (const char* key : kSchemaLists) {
    const json::value* found = schema.if_contains(key);
    if (found == nullptr || !found->is_array()) continue;
    for (std::size_t i = 0; i < found->get_array().size(); ++i) {
      const json::value& item = found->get_array()[i];
      if (!is_schema(item)) continue;
      LATTICE_TRY_VOID(Walk(item, resource, path + "/" + key + "/" + std::to_string(i)));
    }
  }
  for (const char* key : kSchemaMaps) {
    const json::value* found = schema.if_contains(key);
    if (found == nullptr || !found->is_object()) continue;
    for (const auto& member : found->get_object()) {
      if (!is_schema(member.value())) continue;
      LATTICE_TRY_VOID(
          Walk(member.value(), resource, path + "/" + key + "/" + PointerStep(member.key())));
    }
  }
  return Ok();
}

NodeId SchemaDocument::Intern(const json::value& value, bool is_constant, std::uint32_t resource,
                              std::string path) {
  const auto [at, is_new] =
      ids_.try_emplace({&value, is_constant}, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back({&value, is_constant, resource, std::move(path)});
  return at->second;
}

NodeId SchemaDocument::Child(NodeId parent, const json::value& value, std::string_view step,
                             bool is_constant) {
  const auto known = ids_.find({&value, is_constant});
  if (known != ids_.end()) return known->second;
  std::uint32_t resource = nodes_[parent].resource;
  const auto at = resource_of_.find(&value);
  if (at != resource_of_.end()) resource = at->second;
  return Intern(value, is_constant, resource, nodes_[parent].path + "/" + std::string(step));
}

NodeId SchemaDocument::Constant(const json::value& value) { return Intern(value, true, 0, "#"); }

Result<SchemaDocument::Place> SchemaDocument::FollowPointer(Place place,
                                                            std::string_view pointer) const {
  while (!pointer.empty()) {
    pointer.remove_prefix(1);  // the '/'
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string name;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      if (escaped) ++i;
      name += escaped ? (pointer[i] == '1' ? '/' : '~') : pointer[i];
    }
    pointer.remove_prefix(end);
    const json::value* next = nullptr;
    if (place.value->is_object()) {
      next = place.value->get_object().if_contains(name);
    } else if (place.value->is_array()) {
      std::size_t index = 0;
      const char* const last = name.data() + name.size();
      const auto parsed = std::from_chars(name.data(), last, index);
      const json::array& items = place.value->get_array();
      if (parsed.ec == std::errc() && parsed.ptr == last && index < items.size()) {
        next = &items[index];
      }
    }
    if (next == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "leads to nothing at '" + name + "'"};
    }
    const auto at = resource_of_.find(next);
    if (at != resource_of_.end()) place.resource = at->second;
    place.value = next;
    place.path += "/" + PointerStep(name);
  }
  return place;
}

Result<SchemaDocument::Place> SchemaDocument::Find(NodeId from, std::string_view reference) const {
  const std::string uri = ResolveUri(resources_[nodes_[from].resource].uri, reference);
  const std::string base(WithoutFragment(uri));
  const std::string fragment = PercentDecode(FragmentOf(uri));
  const auto resource = resource_of_uri_.find(base);
  if (resource == resource_of_uri_.end()) {
    return Error{ErrorCode::kUnsupported, "refers to another document"};
  }
  const Resource& found = resources_[resource->second];
  if (fragment.empty() || fragment[0] == '/') {
    return FollowPointer({found.root, resource->second, found.path}, fragment);
  }
  const auto anchor = anchors_.find(base + "#" + fragment);
  if (anchor == anchors_.end()) {
    return Error{ErrorCode::kInvalidArgument, "leads to no anchor"};
  }
  return anchor->second;
}

Result<NodeId> SchemaDocument::Resolve(NodeId from, std::string_view reference) {
  LATTICE_TRY(Place place, Find(from, reference));
  if (!place.value->is_object() && !place.value->is_bool()) {
    return Error{ErrorCode::kInvalidArgument, "leads to what is no schema"};
  }
  return Intern(*place.value, false, place.resource, std::move(place.path));
}

Result<NodeId> SchemaDocument::ResolveDynamic(NodeId from, std::string_view reference) {
  LATTICE_TRY(const Place place, Find(from, reference));
  const auto count = n_dynamic_anchors_.find(std::string(FragmentOf(reference)));
  if (place.is_dynamic && count != n_dynamic_anchors_.end() && count->second > 1) {
    return Error{ErrorCode::kUnsupported, "depends on who refers"};
  }
  return Resolve(from, reference);
}

}  // namespace lattice::grammar
