#include "grammar/json_schema/expander.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lattice::grammar {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 300;  // of schemas that apply to one and the same value
constexpr std::size_t kMaxFewValues = 10;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

}  // namespace

std::string Expander::PathOf(const Goal& goal) const {
  return goal.empty() ? "#" : document_.node(goal[0] / 2).path;
}

Error Expander::Complain(const Keyword& k, ErrorCode code, std::string_view what) const {
  return {code, document_.node(k.node).path + "/" + PointerStep(k.name) + ": " + std::string(what)};
}

Result<const Shape*> Expander::Expand(const Goal& goal) {
  const auto known = goals_.find(goal);
  if (known != goals_.end()) return static_cast<const Shape*>(known->second.get());
  Shape all = shapes_.Any();
  for (const Claim claim : goal) {
    LATTICE_TRY(const Shape* shape, ExpandClaim(claim));
    LATTICE_TRY(all, shapes_.Both(all, *shape));
  }
  auto& kept = goals_[goal];
  kept = std::make_unique<Shape>(std::move(all));
  return static_cast<const Shape*>(kept.get());
}

Result<const Shape*> Expander::ExpandClaim(Claim claim) {
  const auto known = claims_.find(claim);
  if (known == claims_.end()) {
    const SchemaNode& node = document_.node(claim / 2);
    const std::string path = node.path;
    const bool is_constant = node.is_constant;
    if (in_progress_[claim]) {
      return Error{ErrorCode::kInvalidArgument, path + ": refers to itself in a circle"};
    }
    if (depth_ >= kMaxDepth) {
      return Error{ErrorCode::kResourceExhausted, path + ": the schemas are nested too deeply"};
    }
    in_progress_[claim] = true;
    ++depth_;
    const bool fails = claim % 2 != 0;
    auto made = std::make_unique<Result<Shape>>(is_constant ? ConstantForms(claim / 2, fails)
                                                            : ExpandSchema(claim / 2, fails));
    --depth_;
    in_progress_[claim] = false;
    claims_[claim] = std::move(made);
  }
  const Result<Shape>& shape = *claims_[claim];
  if (!shape) return shape.error();
  return &*shape;
}

// The values of an enum: scalars are gathered into one expression of each type.
Result<Shape> Expander::ExpandConstants(NodeId parent, std::span<const json::value* const> values,
                                        std::span<const std::string> steps, bool fail) {
  Shape scalars = shapes_.None();
  std::vector<Expr> strings, numbers;
  std::vector<Claim> composed;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const json::value& value = *values[i];
    LATTICE_TRY_VOID(shapes_.Spend(1));
    if (value.is_null()) {
      scalars.null = true;
    } else if (value.is_bool()) {
      (value.get_bool() ? scalars.yes : scalars.no) = true;
    } else if (value.is_string()) {
      strings.push_back(strings_.Literal(View(value.get_string())));
    } else if (value.is_number()) {
      const auto decimal = DecimalOf(value);
      if (!decimal) {
        return Error{ErrorCode::kUnsupported,
                     document_.node(parent).path + "/" + steps[i] + ": the number is too large"};
      }
      numbers.push_back(numbers_.Equal(*decimal));
    } else {
      const NodeId node = document_.Child(parent, value, steps[i], true);
      composed.push_back(fail ? Fails(node) : Holds(node));
    }
  }
  scalars.string = builder_.Or(strings);
  scalars.number = builder_.Or(numbers);
  if (!fail) {
    for (const Claim claim : composed) {
      LATTICE_TRY(const Shape* shape, ExpandClaim(claim));
      LATTICE_TRY(scalars, shapes_.Either(std::move(scalars), *shape));
    }
    return scalars;
  }
  Shape other = shapes_.OtherScalars(scalars);
  other.objects.emplace_back();
  other.arrays.emplace_back();
  for (const Claim claim : composed) {
    LATTICE_TRY(const Shape* shape, ExpandClaim(claim));
    LATTICE_TRY(other, shapes_.Both(other, *shape));
  }
  return other;
}

// One value: an object or an array as a form with a goal for each part.
Result<Shape> Expander::ConstantForms(NodeId node, bool fail) {
  const json::value& value = *document_.node(node).value;
  const auto part = [&](const json::value& v, std::string_view step) {
    const NodeId child = document_.Child(node, v, step, true);
    return Goal{fail ? Fails(child) : Holds(child)};
  };
  Shape shape = fail ? shapes_.Any() : shapes_.None();
  if (value.is_object()) {
    ObjectForm form;
    KeySet others{.is_rest = true};
    if (fail) shape.objects.clear();
    for (const auto& member : value.get_object()) {
      const std::string name(member.key());
      others.names.push_back(name);
      ObjectForm::Property property{name, part(member.value(), PointerStep(name)), true, true};
      if (!fail) {
        form.properties.push_back(std::move(property));
        continue;
      }
      shape.objects.push_back({.properties = {std::move(property)}});
      shape.objects.push_back({.properties = {{name, {kNeverClaim}}}});
    }
    std::ranges::sort(others.names);
    if (fail) {
      shape.objects.push_back(WithWitness({others, {}}));
    } else {
      form.rules.push_back({others, {kNeverClaim}});
      shape.objects.push_back(std::move(form));
    }
    return shape;
  }
  if (value.is_array()) {
    const json::array& items = value.get_array();
    const auto n = static_cast<std::uint32_t>(items.size());
    ArrayForm whole{.min = n, .max = n};
    if (fail) shape.arrays.clear();
    for (std::uint32_t i = 0; i < n; ++i) {
      whole.prefix.push_back(part(items[i], std::to_string(i)));
      if (!fail) continue;
      ArrayForm differs{.min = i + 1};
      differs.prefix.resize(i + 1);
      differs.prefix[i] = whole.prefix[i];
      shape.arrays.push_back(std::move(differs));
    }
    if (fail) {
      if (n > 0) shape.arrays.push_back({.max = n - 1});
      shape.arrays.push_back({.min = n + 1});
    } else {
      shape.arrays.push_back(std::move(whole));
    }
    return shape;
  }
  const json::value* const values[] = {&value};
  const std::string steps[] = {""};
  return ExpandConstants(node, values, steps, fail);
}

Result<Shape> Expander::ExpandSchema(NodeId node, bool fails) {
  const json::value& value = *document_.node(node).value;
  if (value.is_bool()) return value.get_bool() != fails ? shapes_.Any() : shapes_.None();
  if (!value.is_object()) {
    return Error{ErrorCode::kInvalidArgument, document_.node(node).path + ": not a schema"};
  }
  const json::object& schema = value.get_object();
  const json::value* ref = schema.if_contains("$ref");
  if (ref != nullptr && document_.dialect(node) <= Dialect::kDraft7) {
    return ExpandKeyword({node, schema, "$ref", *ref, fails});  // Its neighbours say nothing.
  }
  Shape shape = fails ? shapes_.None() : shapes_.Any();
  for (const auto& member : schema) {
    const std::string_view name(member.key().data(), member.key().size());
    LATTICE_TRY(const Shape one, ExpandKeyword({node, schema, name, member.value(), fails}));
    if (fails) {
      LATTICE_TRY(shape, shapes_.Either(std::move(shape), one));
    } else {
      LATTICE_TRY(shape, shapes_.Both(shape, one));
    }
  }
  return shape;
}

Result<Shape> Expander::ExpandKeyword(const Keyword& k) {
  LATTICE_TRY_VOID(shapes_.Spend(1));
  const Dialect dialect = document_.dialect(k.node);
  for (const Entry& entry : Handlers()) {
    if (entry.name != k.name || dialect < entry.first || dialect > entry.last) continue;
    auto shape = (this->*entry.handler)(k);
    if (shape && builder_.failed()) {
      return Complain(k, builder_.error()->code, builder_.error()->message);
    }
    return shape;
  }
  return k.fails ? shapes_.None() : shapes_.Any();  // An annotation.
}

Result<Shape> Expander::AnyGoal(const std::vector<Goal>& goals) {
  Shape any = shapes_.None();
  for (const Goal& goal : goals) {
    if (IsNever(goal)) continue;
    LATTICE_TRY(const Shape* shape, Expand(goal));
    LATTICE_TRY(any, shapes_.Either(std::move(any), *shape));
  }
  return any;
}

Result<Shape> Expander::AllClaims(const std::vector<Claim>& claims) {
  Shape all = shapes_.Any();
  for (const Claim claim : claims) {
    LATTICE_TRY(const Shape* shape, ExpandClaim(claim));
    LATTICE_TRY(all, shapes_.Both(all, *shape));
  }
  return all;
}

Goal Expander::GoalOf(const ObjectForm& form, const ObjectForm::Property& property) {
  Goal goal = property.goal;
  for (const ObjectForm::Rule& rule : form.rules) {
    if (shapes_.Contains(rule.keys, property.name)) goal = Both(goal, rule.goal);
  }
  for (const Expr names : form.names) {
    if (!strings_.Matches(names, property.name)) return {kNeverClaim};
  }
  return goal;
}

bool Expander::IsEmpty(const Goal& goal, int depth) {
  if (IsNever(goal)) return true;
  if (goal.empty() || depth == 0) return false;
  const auto known = empty_.find(goal);
  if (known != empty_.end()) return known->second;
  empty_[goal] = false;  // for goals that lead back here
  const auto shape = Expand(goal);
  if (!shape) return false;
  const auto matches_none = [&](Expr e) {
    if (e == builder_.Nothing()) return true;
    const auto some = builder_.MatchesSomething(e);
    return some && !*some;
  };
  const Shape& s = **shape;
  bool empty = !s.null && !s.yes && !s.no && matches_none(s.number) && matches_none(s.string);
  for (std::size_t i = 0; empty && i < s.objects.size(); ++i) {
    empty = FormIsEmpty(s.objects[i], depth - 1);
  }
  for (std::size_t i = 0; empty && i < s.arrays.size(); ++i) {
    empty = FormIsEmpty(s.arrays[i], depth - 1);
  }
  empty_[goal] = empty;
  return empty;
}

bool Expander::FormIsEmpty(const ObjectForm& form, int depth) {
  std::uint32_t n_required = 0;
  for (const ObjectForm::Property& property : form.properties) {
    if (!property.required) continue;
    ++n_required;
    if (IsEmpty(GoalOf(form, property), depth)) return true;
  }
  return form.min > form.max || n_required > form.max;
}

bool Expander::FormIsEmpty(const ArrayForm& form, int depth) {
  if (form.min > form.max) return true;
  for (std::size_t i = 0; i < form.prefix.size() && i < form.min; ++i) {
    if (IsEmpty(form.prefix[i], depth)) return true;
  }
  return form.min > form.prefix.size() && IsEmpty(form.rest, depth);
}

std::optional<std::vector<Goal>> Expander::FewValues(const Goal& goal) {
  static const std::array<json::value, 3> kScalars = {json::value(nullptr), json::value(false),
                                                      json::value(true)};
  std::vector<NodeId> constants;
  for (const Claim claim : goal) {
    if (claim % 2 != 0) continue;
    const NodeId node = claim / 2;
    const json::value& value = *document_.node(node).value;
    if (document_.node(node).is_constant) constants = {node};
    if (document_.node(node).is_constant || !value.is_object()) continue;
    const json::value* values = value.get_object().if_contains("enum");
    if (values == nullptr || !values->is_array()) continue;
    constants.clear();
    for (std::size_t i = 0; i < values->get_array().size(); ++i) {
      constants.push_back(
          document_.Child(node, values->get_array()[i], "enum/" + std::to_string(i), true));
    }
  }
  if (constants.empty()) {
    const auto shape = Expand(goal);
    const Expr nothing = builder_.Nothing();
    if (!shape || (*shape)->number != nothing || (*shape)->string != nothing ||
        !(*shape)->objects.empty() || !(*shape)->arrays.empty()) {
      return std::nullopt;
    }
    for (const json::value& scalar : kScalars) constants.push_back(document_.Constant(scalar));
  }
  std::vector<Goal> goals;
  if (constants.size() > 4 * kMaxFewValues) return std::nullopt;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const auto same = [&](NodeId other) {
      return !IsEmpty(Both({Holds(other)}, {Holds(constants[i])}), 8);
    };
    const auto until = constants.begin() + static_cast<std::ptrdiff_t>(i);
    Goal one = Both(goal, {Holds(constants[i])});
    if (std::any_of(constants.begin(), until, same) || IsEmpty(one, 8)) continue;
    goals.push_back(std::move(one));
  }
  if (goals.size() > kMaxFewValues) return std::nullopt;
  return goals;
}

}  // namespace lattice::grammar
