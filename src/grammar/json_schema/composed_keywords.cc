// Keywords of objects and arrays.
#include <algorithm>

#include "grammar/json_schema/expander.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

bool IsFirst(const json::object& schema, std::string_view name,
             std::initializer_list<std::string_view> group) {
  for (const auto& member : schema) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(group, key) != group.end()) return key == name;
  }
  return false;
}

}  // namespace

Result<Shape> Expander::Members(const Keyword& k) {
  if (!IsFirst(k.schema, k.name, {"properties", "patternProperties", "additionalProperties"})) {
    return k.fails ? shapes_.None() : shapes_.Any();
  }
  ObjectForm form;
  KeySet others{.is_rest = true};
  const auto goal = [&](NodeId node) -> Goal {
    const json::value& value = *document_.node(node).value;
    if (!value.is_bool()) return {k.fails ? Fails(node) : Holds(node)};
    return value.get_bool() != k.fails ? Goal{} : Goal{kNeverClaim};
  };
  const auto map_of = [&](const char* name) -> const json::object* {
    const json::value* found = k.schema.if_contains(name);
    return found != nullptr ? found->if_object() : nullptr;
  };
  if (const json::object* properties = map_of("properties")) {
    for (const auto& member : *properties) {
      const std::string name(member.key());
      LATTICE_TRY(const NodeId node, Sub(k, member.value(), "properties/" + PointerStep(name)));
      form.properties.push_back({name, goal(node), k.fails, true});
      others.names.push_back(name);
    }
  }
  if (const json::object* patterns = map_of("patternProperties")) {
    for (const auto& member : *patterns) {
      const std::string text(member.key());
      LATTICE_TRY(const NodeId node,
                  Sub(k, member.value(), "patternProperties/" + PointerStep(text)));
      const auto keys = strings_.Matching(text);
      if (!keys) return Complain(k, keys.error().code, keys.error().message);
      others.patterns.push_back(*keys);
      form.rules.push_back({{.pattern = *keys}, goal(node)});
    }
  }
  std::ranges::sort(others.names);
  if (const json::value* rest = k.schema.if_contains("additionalProperties")) {
    LATTICE_TRY(const NodeId node, Sub(k, *rest, "additionalProperties"));
    form.rules.push_back({others, goal(node)});
  }
  if (!k.fails) {
    std::erase_if(form.rules, [](const ObjectForm::Rule& rule) { return rule.goal.empty(); });
    Shape shape = shapes_.AllButObjects();
    shape.objects.push_back(std::move(form));
    return shape;
  }
  Shape shape = shapes_.None();  // One of the members breaks a rule.
  for (ObjectForm::Property& property : form.properties) {
    if (!IsNever(property.goal)) shape.objects.push_back({.properties = {std::move(property)}});
  }
  for (ObjectForm::Rule& rule : form.rules) {
    if (!IsNever(rule.goal)) shape.objects.push_back(WithWitness(std::move(rule)));
  }
  return shape;
}

Result<Shape> Expander::Required(const Keyword& k) {
  if (k.value.is_bool())
    return k.fails ? shapes_.None() : shapes_.Any();  // draft 3, within a member
  if (!k.value.is_array()) return Complain(k, ErrorCode::kInvalidArgument, "expected an array");
  ObjectForm all;
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButObjects();
  for (const json::value& name : k.value.get_array()) {
    if (!name.is_string()) return Complain(k, ErrorCode::kInvalidArgument, "expected strings");
    const std::string key(View(name.get_string()));
    if (k.fails) shape.objects.push_back({.properties = {{key, {kNeverClaim}}}});
    if (std::ranges::find(all.properties, key, &ObjectForm::Property::name) ==
        all.properties.end()) {
      all.properties.push_back({key, {}, true});
    }
  }
  if (!k.fails) shape.objects.push_back(std::move(all));
  return shape;
}

Result<Shape> Expander::MemberCount(const Keyword& k) {
  LATTICE_TRY(const std::uint32_t n, Count(k, k.value));
  const bool is_min = k.name == "minProperties";
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButObjects();
  if (!k.fails) {
    shape.objects.push_back(is_min ? ObjectForm{.min = n} : ObjectForm{.max = n});
  } else if (!is_min) {
    shape.objects.push_back({.min = n + 1});
  } else if (n > 0) {
    shape.objects.push_back({.max = n - 1});
  }
  return shape;
}

Result<Shape> Expander::PropertyNames(const Keyword& k) {
  LATTICE_TRY(const NodeId node, Sub(k, k.value, "propertyNames"));
  LATTICE_TRY(const Shape* names, ExpandClaim(Holds(node)));
  if (!k.fails) {
    Shape shape = shapes_.AllButObjects();
    shape.objects.emplace_back();
    if (names->string != strings_.any()) shape.objects[0].names.push_back(names->string);
    return shape;
  }
  Shape shape = shapes_.None();
  if (names->string == strings_.any()) return shape;
  const Expr others = builder_.Minus(strings_.any(), names->string);
  shape.objects.push_back({.witnesses = {{{.pattern = others}, {}}}});
  return shape;
}

Result<Shape> Expander::Dependencies(const Keyword& k) {
  if (!k.value.is_object()) return Complain(k, ErrorCode::kInvalidArgument, "expected an object");
  Shape all = k.fails ? shapes_.None() : shapes_.Any();
  for (const auto& member : k.value.get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    LATTICE_TRY(const Shape one, OneDependency(k, name, member.value()));
    if (k.fails) {
      LATTICE_TRY(all, shapes_.Either(std::move(all), one));
    } else {
      LATTICE_TRY(all, shapes_.Both(all, one));
    }
  }
  return all;
}

// Without the member, or with it and what it needs.
Result<Shape> Expander::OneDependency(const Keyword& k, std::string_view name,
                                      const json::value& needs) {
  const ObjectForm present{.properties = {{std::string(name), {}, true}}};
  Shape with = shapes_.AnyObject();
  with.objects = {present};
  Shape needed = shapes_.None();
  if (needs.is_array() || needs.is_string()) {
    std::vector<std::string> keys;
    if (needs.is_string()) keys.emplace_back(View(needs.get_string()));
    if (needs.is_array()) {
      for (const json::value& key : needs.get_array()) {
        if (!key.is_string()) return Complain(k, ErrorCode::kInvalidArgument, "expected strings");
        keys.emplace_back(View(key.get_string()));
      }
    }
    ObjectForm all;
    for (const std::string& key : keys) {
      if (k.fails) needed.objects.push_back({.properties = {{key, {kNeverClaim}}}});
      all = ObjectForm{all};
      all.properties.push_back({key, {}, true});
    }
    if (!k.fails) needed.objects.push_back(std::move(all));
  } else {
    LATTICE_TRY(const NodeId node, Sub(k, needs, std::string(k.name) + "/" + PointerStep(name)));
    LATTICE_TRY(const Shape* shape, ExpandClaim(k.fails ? Fails(node) : Holds(node)));
    needed.objects = shape->objects;
  }
  LATTICE_TRY(Shape both, shapes_.Both(with, needed));
  if (k.fails) return both;
  Shape without = shapes_.AllButObjects();
  without.objects.push_back({.properties = {{std::string(name), {kNeverClaim}}}});
  return shapes_.Either(std::move(without), both);
}

Result<Shape> Expander::Items(const Keyword& k) {
  if (!IsFirst(k.schema, k.name, {"items", "prefixItems", "additionalItems"})) {
    return k.fails ? shapes_.None() : shapes_.Any();
  }
  const auto goal = [&](NodeId node) -> Goal {
    const json::value& value = *document_.node(node).value;
    if (!value.is_bool()) return {k.fails ? Fails(node) : Holds(node)};
    return value.get_bool() != k.fails ? Goal{} : Goal{kNeverClaim};
  };
  const json::value* items = k.schema.if_contains("items");
  const bool is_new = document_.dialect(k.node) >= Dialect::k2020;
  const json::value* list = is_new ? k.schema.if_contains("prefixItems") : nullptr;
  const json::value* rest = items;
  std::string_view rest_name = "items";
  std::string_view list_name = "prefixItems";
  if (items != nullptr && items->is_array()) {
    list = items;
    list_name = "items";
    rest = k.schema.if_contains("additionalItems");
    rest_name = "additionalItems";
  }
  ArrayForm form;
  if (list != nullptr && list->is_array()) {
    for (const json::value& item : list->get_array()) {
      LATTICE_TRY(const NodeId node,
                  Sub(k, item, std::string(list_name) + "/" + std::to_string(form.prefix.size())));
      form.prefix.push_back(goal(node));
    }
  }
  NodeId rest_node = kTrueNode;
  if (rest != nullptr) {
    LATTICE_TRY(rest_node, Sub(k, *rest, std::string(rest_name)));
  }
  form.rest = goal(rest_node);
  if (!k.fails) {
    Shape shape = shapes_.AllButArrays();
    shape.arrays.push_back(std::move(form));
    return shape;
  }
  Shape shape = shapes_.None();  // One of the items breaks a rule.
  for (std::size_t i = 0; i < form.prefix.size(); ++i) {
    if (IsNever(form.prefix[i])) continue;
    ArrayForm broken{.min = static_cast<std::uint32_t>(i) + 1};
    broken.prefix.resize(i + 1);
    broken.prefix[i] = form.prefix[i];
    shape.arrays.push_back(std::move(broken));
  }
  const auto first = static_cast<std::uint32_t>(form.prefix.size());
  if (IsNever(form.rest)) return shape;
  if (form.rest.empty()) {
    shape.arrays.push_back({.min = first + 1});
  } else {
    shape.arrays.push_back({.contains = {{.goal = form.rest, .first = first}}});
  }
  return shape;
}

Result<Shape> Expander::ItemCount(const Keyword& k) {
  LATTICE_TRY(const std::uint32_t n, Count(k, k.value));
  const bool is_min = k.name == "minItems";
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButArrays();
  if (!k.fails) {
    shape.arrays.push_back(is_min ? ArrayForm{.min = n} : ArrayForm{.max = n});
  } else if (!is_min) {
    shape.arrays.push_back({.min = n + 1});
  } else if (n > 0) {
    shape.arrays.push_back({.max = n - 1});
  }
  return shape;
}

Result<Shape> Expander::Contains(const Keyword& k) {
  LATTICE_TRY(const NodeId node, Sub(k, k.value, "contains"));
  const json::value& value = *document_.node(node).value;
  ArrayForm::Contains wanted{.goal = {Holds(node)}};
  if (value.is_bool()) wanted.goal = value.get_bool() ? Goal{} : Goal{kNeverClaim};
  const bool counts = document_.dialect(k.node) >= Dialect::k2019;
  if (const json::value* least = k.schema.if_contains("minContains"); least != nullptr && counts) {
    LATTICE_TRY(wanted.min, Count(k, *least));
  }
  if (const json::value* most = k.schema.if_contains("maxContains"); most != nullptr && counts) {
    LATTICE_TRY(wanted.max, Count(k, *most));
  }
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButArrays();
  if (!k.fails) {
    ArrayForm form;
    if (wanted.min > 0 || wanted.max != kNoLimit) form.contains.push_back(wanted);
    if (wanted.min <= wanted.max) shape.arrays.push_back(std::move(form));
    return shape;
  }
  if (wanted.min > 0) {
    shape.arrays.push_back({.contains = {{.goal = wanted.goal, .min = 0, .max = wanted.min - 1}}});
  }
  if (wanted.max != kNoLimit) {
    shape.arrays.push_back({.contains = {{.goal = wanted.goal, .min = wanted.max + 1}}});
  }
  return shape;
}

Result<Shape> Expander::UniqueItems(const Keyword& k) {
  if (!k.value.is_bool()) return Complain(k, ErrorCode::kInvalidArgument, "expected a boolean");
  if (!k.value.get_bool()) return k.fails ? shapes_.None() : shapes_.Any();
  if (k.fails) return Complain(k, ErrorCode::kUnsupported, "cannot be denied");
  Shape shape = shapes_.AllButArrays();
  shape.arrays.push_back({.unique = true});
  return shape;
}

}  // namespace lattice::grammar
