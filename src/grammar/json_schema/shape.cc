#include "grammar/json_schema/shape.h"

#include <algorithm>

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxForms = 600;
constexpr std::size_t kMaxSteps = 400'000;

template <typename T>
void AddNew(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& item : from) {
    if (std::ranges::find(to, item) == to.end()) to.push_back(item);
  }
}

ObjectForm BothObjects(const ObjectForm& a, const ObjectForm& b) {
  ObjectForm both = a;
  for (const ObjectForm::Property& property : b.properties) {
    const auto known =
        std::ranges::find(both.properties, property.name, &ObjectForm::Property::name);
    if (known == both.properties.end()) {
      both.properties.push_back(property);
      continue;
    }
    known->goal = Both(known->goal, property.goal);
    known->required = known->required || property.required;
    if (property.declared && !known->declared) {
      // Its place is where `properties` names it, not where `required` did.
      ObjectForm::Property moved = *known;
      moved.declared = true;
      both.properties.erase(known);
      both.properties.push_back(std::move(moved));
    }
  }
  AddNew(both.rules, b.rules);
  AddNew(both.witnesses, b.witnesses);
  AddNew(both.names, b.names);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  return both;
}

ArrayForm BothArrays(const ArrayForm& a, const ArrayForm& b) {
  ArrayForm both = a;
  const std::size_t n = std::max(a.prefix.size(), b.prefix.size());
  both.prefix.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    both.prefix[i] = Both(i < a.prefix.size() ? a.prefix[i] : a.rest,
                          i < b.prefix.size() ? b.prefix[i] : b.rest);
  }
  both.rest = Both(a.rest, b.rest);
  AddNew(both.contains, b.contains);
  both.unique = a.unique || b.unique;
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  return both;
}

bool IsDead(const ObjectForm& form) {
  if (form.min > form.max) return true;
  return std::ranges::any_of(
      form.properties, [](const ObjectForm::Property& p) { return p.required && IsNever(p.goal); });
}

bool IsDead(const ArrayForm& form) {
  if (form.min > form.max) return true;
  for (std::size_t i = 0; i < form.prefix.size() && i < form.min; ++i) {
    if (IsNever(form.prefix[i])) return true;
  }
  return form.min > form.prefix.size() && IsNever(form.rest);
}

const Error kTooMany{ErrorCode::kResourceExhausted, "the schema has too many combinations"};

}  // namespace

Goal Both(const Goal& a, const Goal& b) {
  Goal both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  for (std::size_t i = 0; i + 1 < both.size(); ++i) {
    if ((both[i] ^ 1) == both[i + 1] && both[i] % 2 == 0) return {kNeverClaim};
  }
  return IsNever(both) ? Goal{kNeverClaim} : both;
}

ObjectForm WithWitness(ObjectForm::Rule rule) {
  ObjectForm form;
  for (const std::string& name : rule.keys.names) form.properties.push_back({.name = name});
  form.witnesses.push_back(std::move(rule));
  return form;
}

Shape Shapes::None() const {
  Shape none;
  none.number = none.string = builder_.Nothing();
  return none;
}

Shape Shapes::Any() const {
  return {.null = true,
          .yes = true,
          .no = true,
          .number = numbers_.all(),
          .string = strings_.any(),
          .objects = {ObjectForm{}},
          .arrays = {ArrayForm{}}};
}

Shape Shapes::AnyObject() const {
  Shape shape = None();
  shape.objects.emplace_back();
  return shape;
}

Shape Shapes::AnyArray() const {
  Shape shape = None();
  shape.arrays.emplace_back();
  return shape;
}

Shape Shapes::AllButObjects() const {
  Shape shape = Any();
  shape.objects.clear();
  return shape;
}

Shape Shapes::AllButArrays() const {
  Shape shape = Any();
  shape.arrays.clear();
  return shape;
}

Shape Shapes::AllButStrings() const {
  Shape shape = Any();
  shape.string = builder_.Nothing();
  return shape;
}

Shape Shapes::AllButNumbers() const {
  Shape shape = Any();
  shape.number = builder_.Nothing();
  return shape;
}

Status Shapes::Spend(std::size_t n_steps) {
  n_steps_ += n_steps;
  if (n_steps_ > kMaxSteps) return kTooMany;
  return Ok();
}

Result<Shape> Shapes::Both(const Shape& a, const Shape& b) {
  Shape both = None();
  both.null = a.null && b.null;
  both.yes = a.yes && b.yes;
  both.no = a.no && b.no;
  both.number = numbers_.And(a.number, b.number);
  both.only_integers = a.only_integers || b.only_integers;
  both.string = a.string == strings_.any()   ? b.string
                : b.string == strings_.any() ? a.string
                                             : builder_.And({a.string, b.string});
  for (const ObjectForm& x : a.objects) {
    for (const ObjectForm& y : b.objects) {
      LATTICE_TRY_VOID(Spend(1 + x.properties.size() + y.properties.size() / 8));
      ObjectForm form = BothObjects(x, y);
      if (!IsDead(form)) both.objects.push_back(std::move(form));
      if (both.objects.size() > kMaxForms) return kTooMany;
    }
  }
  for (const ArrayForm& x : a.arrays) {
    for (const ArrayForm& y : b.arrays) {
      LATTICE_TRY_VOID(Spend(1));
      ArrayForm form = BothArrays(x, y);
      if (!IsDead(form)) both.arrays.push_back(std::move(form));
      if (both.arrays.size() > kMaxForms) return kTooMany;
    }
  }
  return both;
}

Result<Shape> Shapes::Either(Shape a, const Shape& b) {
  LATTICE_TRY_VOID(Spend(1 + b.objects.size() + b.arrays.size()));
  const Expr nothing = builder_.Nothing();
  a.null = a.null || b.null;
  a.yes = a.yes || b.yes;
  a.no = a.no || b.no;
  const bool integers =
      (a.only_integers || a.number == nothing) && (b.only_integers || b.number == nothing);
  a.only_integers = integers && (a.only_integers || b.only_integers);
  a.number = builder_.Or({a.number, b.number});
  a.string = a.string == strings_.any() || b.string == strings_.any()
                 ? strings_.any()
                 : builder_.Or({a.string, b.string});
  AddNew(a.objects, b.objects);
  AddNew(a.arrays, b.arrays);
  if (std::ranges::find(a.objects, ObjectForm{}) != a.objects.end()) a.objects = {ObjectForm{}};
  if (std::ranges::find(a.arrays, ArrayForm{}) != a.arrays.end()) a.arrays = {ArrayForm{}};
  if (a.objects.size() > kMaxForms || a.arrays.size() > kMaxForms) return kTooMany;
  return a;
}

Shape Shapes::OtherScalars(const Shape& shape) {
  Shape other = None();
  other.null = !shape.null;
  other.yes = !shape.yes;
  other.no = !shape.no;
  other.number = numbers_.Complement(shape.number);
  if (shape.string == builder_.Nothing()) {
    other.string = strings_.any();
  } else if (shape.string != strings_.any()) {
    other.string = builder_.Minus(strings_.any(), shape.string);
  }
  return other;
}

bool Shapes::Contains(const KeySet& keys, std::string_view name) {
  if (!keys.is_rest) return strings_.Matches(keys.pattern, name);
  if (std::ranges::binary_search(keys.names, name)) return false;
  return std::ranges::none_of(keys.patterns,
                              [&](Expr pattern) { return strings_.Matches(pattern, name); });
}

}  // namespace lattice::grammar
