#include <algorithm>
#include <utility>

#include "chat/jinja/builtins.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/string_methods.h"

namespace lattice::chat::jinja {
namespace {

using Predicate = bool (*)(const Value& value);

bool IsDefined(const Value& value) { return !value.IsUndefined(); }
bool IsUndefinedValue(const Value& value) { return value.IsUndefined(); }
bool IsNoneValue(const Value& value) { return value.IsNone(); }
bool IsBoolean(const Value& value) { return value.Is<bool>(); }
bool IsTrue(const Value& value) { return value.Is<bool>() && *value.If<bool>(); }
bool IsFalse(const Value& value) { return value.Is<bool>() && !*value.If<bool>(); }
bool IsInteger(const Value& value) { return value.Is<Int>(); }
bool IsFloat(const Value& value) { return value.Is<double>(); }
bool IsNumberValue(const Value& value) { return value.IsNumber(); }
bool IsStringValue(const Value& value) { return value.IsString(); }
bool IsMapping(const Value& value) { return value.dict() != nullptr; }
bool IsEscaped(const Value& value) { return value.IsString() && value.text()->is_markup(); }

// What has len() and can be indexed; a mapping counts too.
bool IsSequence(const Value& value) {
  const List* list = value.list();
  if (list != nullptr) {
    return list->kind == List::Kind::kList || list->kind == List::Kind::kTuple ||
           list->kind == List::Kind::kRange;
  }
  return value.IsString() || value.dict() != nullptr;
}

bool IsCallable(const Value& value) {
  return value.Is<const Macro*>() || value.Is<const Function*>() || value.Is<MethodRef>() ||
         value.Is<LoopState*>();
}

constexpr std::pair<std::string_view, Predicate> kPredicates[] = {
    {"defined", IsDefined},    {"undefined", IsUndefinedValue},
    {"none", IsNoneValue},     {"boolean", IsBoolean},
    {"true", IsTrue},          {"false", IsFalse},
    {"integer", IsInteger},    {"float", IsFloat},
    {"number", IsNumberValue}, {"string", IsStringValue},
    {"mapping", IsMapping},    {"sequence", IsSequence},
    {"iterable", IsIterable},  {"callable", IsCallable},
    {"escaped", IsEscaped},
};

constexpr std::pair<std::string_view, CompareOp> kComparisons[] = {
    {"eq", CompareOp::kEq},       {"equalto", CompareOp::kEq}, {"==", CompareOp::kEq},
    {"ne", CompareOp::kNe},       {"!=", CompareOp::kNe},      {"lt", CompareOp::kLt},
    {"lessthan", CompareOp::kLt}, {"<", CompareOp::kLt},       {"le", CompareOp::kLe},
    {"<=", CompareOp::kLe},       {"gt", CompareOp::kGt},      {"greaterthan", CompareOp::kGt},
    {">", CompareOp::kGt},        {"ge", CompareOp::kGe},      {">=", CompareOp::kGe},
    {"in", CompareOp::kIn},
};

Result<bool> HasRemainder(Runtime& runtime, const Value& subject, Int divisor, bool is_zero) {
  LATTICE_TRY(const Value rest, Binary(runtime, BinaryOp::kMod, subject, Value(divisor)));
  return Truthy(rest) != is_zero;
}

// The same object for None and booleans; equal otherwise, which templates cannot tell apart.
Result<bool> SameAs(Runtime& runtime, const Value& a, const Value& b) {
  if (a.Is<bool>() != b.Is<bool>()) return false;
  if (a.IsNumber() && TypeName(a) != TypeName(b)) return false;
  return Equal(runtime, a, b);
}

Result<bool> IsCase(Runtime& runtime, const Value& subject, std::string_view method) {
  LATTICE_TRY(const Value text, ApplyFilter(runtime, "string", subject, {}));
  LATTICE_TRY(const Value is, FindCaseMethod(method)(runtime, *text.text(), {}));
  return *is.If<bool>();
}

}  // namespace

Result<bool> ApplyTest(Runtime& runtime, std::string_view name, const Value& subject,
                       const Arguments& arguments) {
  for (const auto& [known, predicate] : kPredicates) {
    if (known != name) continue;
    LATTICE_TRY_VOID(Bind(name, arguments, {}));
    return predicate(subject);
  }
  for (const auto& [known, op] : kComparisons) {
    if (known != name) continue;
    LATTICE_TRY(const Bound bound, Bind(name, arguments, {"other"}, 1));
    return Compare(runtime, op, subject, *bound[0]);
  }
  if (name == "odd" || name == "even") {
    LATTICE_TRY_VOID(Bind(name, arguments, {}));
    return HasRemainder(runtime, subject, 2, name == "even");
  }
  if (name == "divisibleby") {
    LATTICE_TRY(const Bound bound, Bind(name, arguments, {"num"}, 1));
    LATTICE_TRY(const Int divisor, bound.IntOr(0, 1));
    return HasRemainder(runtime, subject, divisor, true);
  }
  if (name == "sameas") {
    LATTICE_TRY(const Bound bound, Bind(name, arguments, {"other"}, 1));
    return SameAs(runtime, subject, *bound[0]);
  }
  if (name == "lower" || name == "upper") {
    LATTICE_TRY_VOID(Bind(name, arguments, {}));
    return IsCase(runtime, subject, name == "lower" ? "islower" : "isupper");
  }
  if (name == "filter" || name == "test") {
    if (!subject.IsString()) return false;
    return name == "filter" ? FindFilter(subject.text()->view()) != nullptr
                            : IsTestName(subject.text()->view());
  }
  return Fault("no test named '" + std::string(name) + "'");
}

bool IsTestName(std::string_view name) {
  const auto has = [&](const auto& entry) { return entry.first == name; };
  constexpr std::string_view kOthers[] = {"odd",   "even",  "divisibleby", "sameas",
                                          "lower", "upper", "filter",      "test"};
  return std::any_of(std::begin(kPredicates), std::end(kPredicates), has) ||
         std::any_of(std::begin(kComparisons), std::end(kComparisons), has) ||
         std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers);
}

}  // namespace lattice::chat::jinja
