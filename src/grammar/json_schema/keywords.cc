#include <algorithm>
#include <span>

#include "grammar/json_schema/expander.h"
#include "grammar/json_schema/formats.h"

namespace lattice::grammar {
namespace {

namespace json = boost::json;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

}  // namespace

std::span<const Expander::Entry> Expander::Handlers() {
  static constexpr Entry kHandlers[] = {
      {"type", &Expander::Type},
      {"enum", &Expander::Enum},
      {"const", &Expander::Const, Dialect::kDraft6},
      {"minimum", &Expander::NumberRange},
      {"maximum", &Expander::NumberRange},
      {"exclusiveMinimum", &Expander::NumberRange},
      {"exclusiveMaximum", &Expander::NumberRange},
      {"multipleOf", &Expander::MultipleOf},
      {"minLength", &Expander::Length},
      {"maxLength", &Expander::Length},
      {"pattern", &Expander::Pattern},
      {"format", &Expander::Format},
      {"contentEncoding", &Expander::Content, Dialect::kDraft7, Dialect::kDraft7},
      {"contentMediaType", &Expander::Content, Dialect::kDraft7, Dialect::kDraft7},
      {"properties", &Expander::Members},
      {"patternProperties", &Expander::Members},
      {"additionalProperties", &Expander::Members},
      {"required", &Expander::Required},
      {"minProperties", &Expander::MemberCount},
      {"maxProperties", &Expander::MemberCount},
      {"propertyNames", &Expander::PropertyNames, Dialect::kDraft6},
      {"dependencies", &Expander::Dependencies},
      {"dependentRequired", &Expander::Dependencies, Dialect::k2019},
      {"dependentSchemas", &Expander::Dependencies, Dialect::k2019},
      {"items", &Expander::Items},
      {"prefixItems", &Expander::Items},
      {"additionalItems", &Expander::Items},
      {"minItems", &Expander::ItemCount},
      {"maxItems", &Expander::ItemCount},
      {"contains", &Expander::Contains, Dialect::kDraft6},
      {"uniqueItems", &Expander::UniqueItems},
      {"allOf", &Expander::AllOf},
      {"anyOf", &Expander::AnyOf},
      {"oneOf", &Expander::OneOf},
      {"not", &Expander::Not},
      {"if", &Expander::IfThenElse, Dialect::kDraft7},
      {"$ref", &Expander::Ref},
      {"$dynamicRef", &Expander::Ref, Dialect::k2020},
      {"$recursiveRef", &Expander::Unsupported, Dialect::k2019, Dialect::k2019},
      {"unevaluatedProperties", &Expander::Unevaluated, Dialect::k2019},
      {"unevaluatedItems", &Expander::Unevaluated, Dialect::k2019},
  };
  return kHandlers;
}

Result<NodeId> Expander::Sub(const Keyword& k, const json::value& value, const std::string& step) {
  if (!value.is_object() && !value.is_bool()) {
    return Complain(k, ErrorCode::kInvalidArgument, "expected a schema");
  }
  if (value.is_bool() && value.get_bool()) return kTrueNode;
  return document_.Child(k.node, value, step);
}

Result<std::uint32_t> Expander::Count(const Keyword& k, const json::value& value) {
  const auto decimal = value.is_number() ? DecimalOf(value) : std::nullopt;
  if (!decimal || decimal->negative || !decimal->is_integer()) {
    return Complain(k, ErrorCode::kInvalidArgument, "expected a count");
  }
  if (decimal->whole.size() > 9) return kNoLimit - 1;
  return static_cast<std::uint32_t>(std::stoul(decimal->whole));
}

Result<Shape> Expander::Type(const Keyword& k) {
  Shape shape = shapes_.None();
  std::vector<const json::value*> names;
  if (k.value.is_array()) {
    for (const json::value& name : k.value.get_array()) names.push_back(&name);
  } else {
    names.push_back(&k.value);
  }
  bool number = false, integer = false;
  for (const json::value* name : names) {
    const std::string_view type = name->is_string() ? View(name->get_string()) : "";
    if (type == "null") {
      shape.null = true;
    } else if (type == "boolean") {
      shape.yes = shape.no = true;
    } else if (type == "number") {
      number = true;
    } else if (type == "integer") {
      integer = true;
    } else if (type == "string") {
      shape.string = strings_.any();
    } else if (type == "object") {
      shape.objects = {ObjectForm{}};
    } else if (type == "array") {
      shape.arrays = {ArrayForm{}};
    } else {
      return Complain(k, ErrorCode::kInvalidArgument, "expected names of types");
    }
  }
  if (number || integer) shape.number = number ? numbers_.all() : numbers_.integers();
  shape.only_integers = integer && !number;
  if (!k.fails) return shape;
  Shape other = shapes_.OtherScalars(shape);
  if (shape.objects.empty()) other.objects.emplace_back();
  if (shape.arrays.empty()) other.arrays.emplace_back();
  return other;
}

Result<Shape> Expander::Enum(const Keyword& k) {
  if (!k.value.is_array()) {
    return Complain(k, ErrorCode::kInvalidArgument, "expected an array");
  }
  std::vector<const json::value*> values;
  std::vector<std::string> steps;
  for (const json::value& value : k.value.get_array()) {
    steps.push_back("enum/" + std::to_string(values.size()));
    values.push_back(&value);
  }
  return ExpandConstants(k.node, values, steps, k.fails);
}

Result<Shape> Expander::Const(const Keyword& k) {
  const json::value* const values[] = {&k.value};
  const std::string steps[] = {"const"};
  return ExpandConstants(k.node, values, steps, k.fails);
}

// The four bounds together, at the first of them. In draft 4 the exclusive ones are booleans.
Result<Shape> Expander::NumberRange(const Keyword& k) {
  NumberRules rules;
  bool first = true;
  for (const auto& member : k.schema) {
    const std::string_view name(member.key().data(), member.key().size());
    const bool is_min = name == "minimum" || name == "exclusiveMinimum";
    if (!is_min && name != "maximum" && name != "exclusiveMaximum") continue;
    if (first && name != k.name) return k.fails ? shapes_.None() : shapes_.Any();
    first = false;
    const bool exclusive = name.starts_with('e');
    std::optional<Decimal>& bound = is_min ? rules.min : rules.max;
    bool& is_exclusive = is_min ? rules.min_is_exclusive : rules.max_is_exclusive;
    if (exclusive && member.value().is_bool()) {
      is_exclusive = is_exclusive || member.value().get_bool();
      continue;
    }
    const auto decimal = DecimalOf(member.value());
    if (!decimal) return Complain(k, ErrorCode::kInvalidArgument, "expected a finite number");
    const int order = bound ? (is_min ? 1 : -1) * Compare(*decimal, *bound) : 1;
    if (order > 0) is_exclusive = exclusive || (!bound && is_exclusive);
    if (order == 0) is_exclusive = is_exclusive || exclusive;
    if (order > 0) bound = *decimal;
  }
  const json::value* type = k.schema.if_contains("type");
  rules.integer = type != nullptr && *type == json::value("integer");
  Shape shape = shapes_.AllButNumbers();
  shape.number = numbers_.Between(rules);
  if (!k.fails) return shape;
  Shape none = shapes_.None();
  none.number = numbers_.Complement(shape.number);
  return none;
}

Result<Shape> Expander::MultipleOf(const Keyword& k) {
  const auto step = DecimalOf(k.value);
  if (!step || step->negative || step->is_zero()) {
    return Complain(k, ErrorCode::kInvalidArgument, "expected a positive number");
  }
  const auto multiples = numbers_.MultiplesOf(*step);
  if (!multiples) return Complain(k, multiples.error().code, multiples.error().message);
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButNumbers();
  shape.number = k.fails ? numbers_.Complement(*multiples) : *multiples;
  return shape;
}

Result<Shape> Expander::Length(const Keyword& k) {
  const json::value* least = k.schema.if_contains("minLength");
  const json::value* most = k.schema.if_contains("maxLength");
  if (least != nullptr && most != nullptr && k.name == "maxLength") {
    return k.fails ? shapes_.None() : shapes_.Any();  // said with minLength
  }
  std::uint32_t min = 0, max = kNoLimit;
  if (least != nullptr) {
    LATTICE_TRY(min, Count(k, *least));
  }
  if (most != nullptr) {
    LATTICE_TRY(max, Count(k, *most));
  }
  // Said of a host name it takes a search to tell what may follow, and says nothing.
  const json::value* format = k.schema.if_contains("format");
  if (options_.check_formats && format != nullptr && *format == json::value("hostname") &&
      !k.fails && min <= 1 && max >= HostName::kMaxName) {
    return shapes_.Any();
  }
  if (!k.fails) {
    Shape shape = shapes_.AllButStrings();
    if (min <= max) shape.string = strings_.OfLength(min, max);
    return shape;
  }
  Shape shape = shapes_.None();
  std::vector<Expr> outside;
  if (min > 0) outside.push_back(strings_.OfLength(0, min - 1));
  if (max < kNoLimit - 1) outside.push_back(strings_.OfLength(max + 1, kNoLimit));
  shape.string = builder_.Or(outside);
  return shape;
}

Result<Shape> Expander::StringsAre(const Keyword& k, Expr strings) {
  if (strings == strings_.any()) return k.fails ? shapes_.None() : shapes_.Any();
  Shape shape = k.fails ? shapes_.None() : shapes_.AllButStrings();
  shape.string = k.fails ? builder_.Minus(strings_.any(), strings) : strings;
  return shape;
}

Result<Shape> Expander::Pattern(const Keyword& k) {
  if (!k.value.is_string()) return Complain(k, ErrorCode::kInvalidArgument, "expected a string");
  const auto strings = strings_.Matching(View(k.value.get_string()));
  if (!strings) return Complain(k, strings.error().code, strings.error().message);
  return StringsAre(k, *strings);
}

Result<Shape> Expander::Format(const Keyword& k) {
  if (!options_.check_formats || !k.value.is_string()) return StringsAre(k, strings_.any());
  const std::string name(View(k.value.get_string()));
  const auto [at, is_new] = formats_.try_emplace({name, document_.dialect(k.node)}, strings_.any());
  if (is_new) at->second = FormatStrings(name, document_.dialect(k.node), strings_, builder_);
  if (!at->second) return Complain(k, at->second.error().code, at->second.error().message);
  return StringsAre(k, *at->second);
}

// Of draft 7 alone: later ones say that they say nothing.
Result<Shape> Expander::Content(const Keyword& k) {
  const bool is_named = options_.check_formats && k.value.is_string();
  if (!is_named) return StringsAre(k, strings_.any());
  const std::string_view name = View(k.value.get_string());
  if (k.name == "contentMediaType") {
    if (name == "application/json" || name.ends_with("+json")) {
      return Complain(k, ErrorCode::kUnsupported, "JSON within a string cannot be enforced");
    }
    return StringsAre(k, strings_.any());
  }
  LATTICE_TRY(const Expr strings, EncodedStrings(name, strings_));
  return StringsAre(k, strings);
}

Result<std::vector<NodeId>> Expander::Branches(const Keyword& k) {
  if (!k.value.is_array() || k.value.get_array().empty()) {
    return Complain(k, ErrorCode::kInvalidArgument, "expected a list of schemas");
  }
  std::vector<NodeId> nodes;
  for (const json::value& branch : k.value.get_array()) {
    LATTICE_TRY(nodes.emplace_back(),
                Sub(k, branch, std::string(k.name) + "/" + std::to_string(nodes.size())));
  }
  return nodes;
}

Result<Shape> Expander::AllOf(const Keyword& k) {
  LATTICE_TRY(const std::vector<NodeId> branches, Branches(k));
  if (k.fails) {
    std::vector<Goal> goals;
    for (const NodeId branch : branches) goals.push_back({Fails(branch)});
    return AnyGoal(goals);
  }
  std::vector<Claim> claims;
  for (const NodeId branch : branches) claims.push_back(Holds(branch));
  return AllClaims(claims);
}

Result<Shape> Expander::AnyOf(const Keyword& k) {
  LATTICE_TRY(const std::vector<NodeId> branches, Branches(k));
  if (k.fails) {
    std::vector<Claim> claims;
    for (const NodeId branch : branches) claims.push_back(Fails(branch));
    return AllClaims(claims);
  }
  std::vector<Goal> goals;
  for (const NodeId branch : branches) goals.push_back({Holds(branch)});
  return AnyGoal(goals);
}

Result<Shape> Expander::OneOf(const Keyword& k) {
  LATTICE_TRY(const std::vector<NodeId> branches, Branches(k));
  if (!k.fails) return OneOfHolds(k, branches);
  std::vector<Claim> none;
  for (const NodeId branch : branches) none.push_back(Fails(branch));
  LATTICE_TRY(Shape shape, AllClaims(none));
  std::vector<Goal> pairs;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      LATTICE_TRY_VOID(shapes_.Spend(1));
      Goal pair = Both({Holds(branches[i])}, {Holds(branches[j])});
      if (!IsEmpty(pair, 8)) pairs.push_back(std::move(pair));
    }
  }
  LATTICE_TRY(const Shape two, AnyGoal(pairs));
  return shapes_.Either(std::move(shape), two);
}

// One branch, and none of those that it has values in common with.
Result<Shape> Expander::OneOfHolds(const Keyword& k, const std::vector<NodeId>& branches) {
  std::vector<Goal> goals;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    goals.push_back({Holds(branches[i])});
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      LATTICE_TRY_VOID(shapes_.Spend(4));
      if (branches[i] == branches[j]) {
        goals[i] = goals[j] = {kNeverClaim};
        continue;
      }
      if (IsEmpty(Both({Holds(branches[i])}, {Holds(branches[j])}), 8)) continue;
      goals[i] = Both(goals[i], {Fails(branches[j])});
      goals[j] = Both(goals[j], {Fails(branches[i])});
    }
  }
  auto shape = AnyGoal(goals);
  if (shape || shape.error().code != ErrorCode::kUnsupported) return shape;
  return Complain(k, ErrorCode::kUnsupported, "branches overlap: " + shape.error().message);
}

Result<Shape> Expander::Not(const Keyword& k) {
  LATTICE_TRY(const NodeId node, Sub(k, k.value, "not"));
  LATTICE_TRY(const Shape* shape, ExpandClaim(k.fails ? Holds(node) : Fails(node)));
  return *shape;
}

Result<Shape> Expander::IfThenElse(const Keyword& k) {
  LATTICE_TRY(const NodeId test, Sub(k, k.value, "if"));
  NodeId then = kTrueNode, otherwise = kTrueNode;
  if (const json::value* v = k.schema.if_contains("then")) {
    LATTICE_TRY(then, Sub(k, *v, "then"));
  }
  if (const json::value* v = k.schema.if_contains("else")) {
    LATTICE_TRY(otherwise, Sub(k, *v, "else"));
  }
  if (then == kTrueNode && otherwise == kTrueNode) {
    return k.fails ? shapes_.None() : shapes_.Any();
  }
  const auto claim = [&](NodeId node) { return k.fails ? Fails(node) : Holds(node); };
  return AnyGoal({Both({Holds(test)}, {claim(then)}), Both({Fails(test)}, {claim(otherwise)})});
}

Result<Shape> Expander::Ref(const Keyword& k) {
  if (!k.value.is_string()) return Complain(k, ErrorCode::kInvalidArgument, "expected a string");
  const std::string_view text = View(k.value.get_string());
  const auto target =
      k.name == "$ref" ? document_.Resolve(k.node, text) : document_.ResolveDynamic(k.node, text);
  if (!target) return Complain(k, target.error().code, target.error().message);
  LATTICE_TRY(const Shape* shape, ExpandClaim(k.fails ? Fails(*target) : Holds(*target)));
  return *shape;
}

Result<Shape> Expander::Unevaluated(const Keyword& k) {
  LATTICE_TRY(const NodeId node, Sub(k, k.value, std::string(k.name)));
  const json::value& value = *document_.node(node).value;
  const bool is_plain = node == kTrueNode || (value.is_object() && value.get_object().empty());
  if (is_plain) return k.fails ? shapes_.None() : shapes_.Any();
  return Unsupported(k);
}

Result<Shape> Expander::Unsupported(const Keyword& k) {
  return Complain(k, ErrorCode::kUnsupported, "this keyword cannot be enforced");
}

}  // namespace lattice::grammar
