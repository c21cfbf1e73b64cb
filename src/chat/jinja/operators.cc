#include "chat/jinja/operators.h"

#include <cmath>

#include "base/checked_math.h"
#include "chat/jinja/escape.h"
#include "chat/jinja/format.h"
#include "chat/jinja/printing.h"
#include "chat/jinja/search.h"

namespace lattice::chat::jinja {
namespace {

bool IsInt(const Value& value) { return value.Is<Int>() || value.Is<bool>(); }

Int AsInt(const Value& value) {
  const bool* flag = value.If<bool>();
  return flag != nullptr ? Int{*flag} : *value.If<Int>();
}

double AsDouble(const Value& value) {
  const double* number = value.If<double>();
  return number != nullptr ? *number : static_cast<double>(AsInt(value));
}

const char* Symbol(BinaryOp op) {
  constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSymbols[static_cast<std::size_t>(op)];
}

Error Unsupported(BinaryOp op, const Value& a, const Value& b) {
  return Fault("unsupported operand type(s) for " + std::string(Symbol(op)) + ": '" +
               std::string(TypeName(a)) + "' and '" + std::string(TypeName(b)) + "'");
}

Error Overflow() { return Fault("the result of integer arithmetic is too large"); }

Result<Value> IntPower(Int base, Int exponent) {
  Int result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return Overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) {
      // Powers of 0, 1 and -1 never get here: their squares are small.
      return Overflow();
    }
  }
  return Value(result);
}

// Division that rounds down, as Python's, whose remainder has the divisor's sign.
Int FloorDiv(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> IntArithmetic(BinaryOp op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return Overflow();
      return Value(result);
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow();
      return Value(result);
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow();
      return Value(result);
    case BinaryOp::kDiv:
      if (b == 0) return Fault("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod:
      if (b == 0) return Fault("integer division or modulo by zero");
      // The one quotient that does not fit is of the smallest integer and -1.
      if (b == -1) {
        if (op == BinaryOp::kMod) return Value(Int{0});
        return Negate(Value(a));
      }
      if (op == BinaryOp::kFloorDiv) return Value(FloorDiv(a, b));
      result = a % b;
      return Value(result != 0 && (result < 0) != (b < 0) ? result + b : result);
    case BinaryOp::kPow:
      if (b < 0) return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
      return IntPower(a, b);
  }
  return Overflow();
}

Result<Value> FloatArithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value(a + b);
    case BinaryOp::kSub:
      return Value(a - b);
    case BinaryOp::kMul:
      return Value(a * b);
    case BinaryOp::kPow:
      return Value(std::pow(a, b));
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod:
      break;
  }
  if (b == 0) return Fault("float division by zero");
  if (op == BinaryOp::kDiv) return Value(a / b);
  if (op == BinaryOp::kFloorDiv) return Value(std::floor(a / b));
  const double remainder = std::fmod(a, b);
  return Value(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

Result<Value> AddText(Runtime& runtime, const Text& a, const Text& b) {
  TextBuilder out = runtime.NewText();
  const bool markup = a.is_markup() || b.is_markup();
  for (const Text* side : {&a, &b}) {
    if (markup && !side->is_markup()) {
      AppendEscaped(*side, out);
    } else {
      out.Append(*side);
    }
  }
  LATTICE_TRY(const Text sum, runtime.Finish(std::move(out)));
  return Value(sum.AsMarkup(markup));
}

Result<Value> Add(Runtime& runtime, const Value& a, const Value& b) {
  if (a.IsString() && b.IsString()) return AddText(runtime, *a.text(), *b.text());
  const List *x = a.list(), *y = b.list();
  if (x != nullptr && y != nullptr && x->kind == y->kind &&
      (x->kind == List::Kind::kList || x->kind == List::Kind::kTuple)) {
    LATTICE_TRY_VOID(runtime.CheckItems(x->items.size() + y->items.size()));
    std::vector<Value> items = x->items;
    items.insert(items.end(), y->items.begin(), y->items.end());
    return runtime.MakeList(std::move(items), x->kind);
  }
  for (const bool is_list : {false, true}) {
    if (is_list ? x == nullptr || x->kind != List::Kind::kList : !a.IsString()) continue;
    const std::string type(TypeName(a));
    return Fault("can only concatenate " + type + " (not \"" + std::string(TypeName(b)) +
                 "\") to " + type);
  }
  return Unsupported(BinaryOp::kAdd, a, b);
}

Result<Value> Repeat(Runtime& runtime, const Value& sequence, Int count) {
  const std::size_t n =
      count <= 0 ? 0 : static_cast<std::size_t>(count > Int{SIZE_MAX} ? Int{SIZE_MAX} : count);
  if (const Text* text = sequence.text()) {
    TextBuilder out = runtime.NewText();
    out.Repeat(*text, n);
    LATTICE_TRY(const Text repeated, runtime.Finish(std::move(out)));
    return Value(repeated.AsMarkup(text->is_markup()));
  }
  const List& list = *sequence.list();
  LATTICE_TRY_VOID(runtime.CheckItems(CheckedMul(list.items.size(), n).value_or(SIZE_MAX)));
  std::vector<Value> items;
  if (!list.items.empty()) {
    for (std::size_t i = 0; i < n; ++i) {
      items.insert(items.end(), list.items.begin(), list.items.end());
    }
  }
  return runtime.MakeList(std::move(items), list.kind);
}

bool IsRepeatable(const Value& value) {
  const List* list = value.list();
  return value.IsString() ||
         (list != nullptr && (list->kind == List::Kind::kList || list->kind == List::Kind::kTuple));
}

Result<bool> EqualLists(Runtime& runtime, const List& a, const List& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == List::Kind::kGenerator || a.items.size() != b.items.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    LATTICE_TRY(const bool same, Equal(runtime, a.items[i], b.items[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> EqualDicts(Runtime& runtime, const Dict& a, const Dict& b) {
  if (&a == &b) return true;
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr) return false;
    LATTICE_TRY(const bool same, Equal(runtime, value, *other));
    if (!same) return false;
  }
  return true;
}

// Three-way order of numbers, strings, lists; an error otherwise. `op` is for the message.
Result<bool> Ordered(Runtime& runtime, const char* op, const Value& a, const Value& b,
                     bool or_equal) {
  LATTICE_TRY_VOID(runtime.Step());
  for (const Value* side : {&a, &b}) {
    if (side->IsUndefined()) return UndefinedFault(*side);
  }
  if (IsInt(a) && IsInt(b)) return or_equal ? AsInt(a) <= AsInt(b) : AsInt(a) < AsInt(b);
  if (a.IsNumber() && b.IsNumber()) {
    return or_equal ? AsDouble(a) <= AsDouble(b) : AsDouble(a) < AsDouble(b);
  }
  if (a.IsString() && b.IsString()) {  // UTF-8 keeps the order of code points.
    LATTICE_TRY_VOID(runtime.Step(a.text()->size() / 64));
    const int order = a.text()->view().compare(b.text()->view());
    return or_equal ? order <= 0 : order < 0;
  }
  const List *x = a.list(), *y = b.list();
  if (x != nullptr && y != nullptr && x->kind == y->kind) {
    for (std::size_t i = 0; i < x->items.size() && i < y->items.size(); ++i) {
      LATTICE_TRY(const bool same, Equal(runtime, x->items[i], y->items[i]));
      if (!same) return Ordered(runtime, op, x->items[i], y->items[i], or_equal);
    }
    return or_equal ? x->items.size() <= y->items.size() : x->items.size() < y->items.size();
  }
  return Fault("'" + std::string(op) + "' not supported between instances of '" +
               std::string(TypeName(a)) + "' and '" + std::string(TypeName(b)) + "'");
}

}  // namespace

bool Truthy(const Value& value) {
  if (value.IsUndefined() || value.IsNone()) return false;
  if (const bool* flag = value.If<bool>()) return *flag;
  if (const Int* integer = value.If<Int>()) return *integer != 0;
  if (const double* number = value.If<double>()) return *number != 0;
  if (const Text* text = value.text()) return !text->empty();
  if (const List* list = value.list()) {
    return list->kind == List::Kind::kGenerator || !list->items.empty();
  }
  if (const Dict* dict = value.dict()) return !dict->entries.empty();
  return true;
}

Error UndefinedFault(const Value& value) {
  const Undefined* undefined = value.If<Undefined>();
  const bool known = undefined != nullptr && undefined->reason != nullptr;
  return Fault(known ? *undefined->reason : "a value is undefined");
}

Result<Value> Binary(Runtime& runtime, BinaryOp op, const Value& a, const Value& b) {
  for (const Value* side : {&a, &b}) {
    if (side->IsUndefined()) return UndefinedFault(*side);
  }
  if (op == BinaryOp::kMod && a.IsString()) return PercentFormat(runtime, *a.text(), b);
  if (a.IsNumber() && b.IsNumber()) {
    if (IsInt(a) && IsInt(b)) return IntArithmetic(op, AsInt(a), AsInt(b));
    return FloatArithmetic(op, AsDouble(a), AsDouble(b));
  }
  if (op == BinaryOp::kAdd) return Add(runtime, a, b);
  if (op == BinaryOp::kMul && IsRepeatable(a) && IsInt(b)) return Repeat(runtime, a, AsInt(b));
  if (op == BinaryOp::kMul && IsInt(a) && IsRepeatable(b)) return Repeat(runtime, b, AsInt(a));
  return Unsupported(op, a, b);
}

Result<Value> Negate(const Value& value) {
  if (value.IsUndefined()) return UndefinedFault(value);
  if (const double* number = value.If<double>()) return Value(-*number);
  if (!IsInt(value)) {
    return Fault("bad operand type for unary -: '" + std::string(TypeName(value)) + "'");
  }
  Int result = 0;
  if (__builtin_sub_overflow(Int{0}, AsInt(value), &result)) return Overflow();
  return Value(result);
}

Result<Value> Positive(const Value& value) {
  if (value.IsUndefined()) return UndefinedFault(value);
  if (value.Is<double>()) return value;
  if (IsInt(value)) return Value(AsInt(value));
  return Fault("bad operand type for unary +: '" + std::string(TypeName(value)) + "'");
}

Result<bool> Equal(Runtime& runtime, const Value& a, const Value& b) {
  LATTICE_TRY_VOID(runtime.Step());
  if (IsInt(a) && IsInt(b)) return AsInt(a) == AsInt(b);
  if (a.IsNumber() && b.IsNumber()) return AsDouble(a) == AsDouble(b);
  if (a.IsString() && b.IsString()) {
    LATTICE_TRY_VOID(runtime.Step(a.text()->size() / 64));
    return a.text()->view() == b.text()->view();
  }
  if (a.list() != nullptr && b.list() != nullptr) return EqualLists(runtime, *a.list(), *b.list());
  if (a.dict() != nullptr && b.dict() != nullptr) return EqualDicts(runtime, *a.dict(), *b.dict());
  if (a.Is<Namespace*>() && b.Is<Namespace*>()) {
    return *a.If<Namespace*>() == *b.If<Namespace*>();
  }
  if (a.Is<const Macro*>() && b.Is<const Macro*>()) {
    return *a.If<const Macro*>() == *b.If<const Macro*>();
  }
  return (a.IsNone() && b.IsNone()) || (a.IsUndefined() && b.IsUndefined());
}

Result<bool> Less(Runtime& runtime, const Value& a, const Value& b) {
  return Ordered(runtime, "<", a, b, /*or_equal=*/false);
}

Result<bool> Compare(Runtime& runtime, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq:
      return Equal(runtime, a, b);
    case CompareOp::kNe: {
      LATTICE_TRY(const bool same, Equal(runtime, a, b));
      return !same;
    }
    case CompareOp::kLt:
      return Ordered(runtime, "<", a, b, false);
    case CompareOp::kLe:
      return Ordered(runtime, "<=", a, b, true);
    case CompareOp::kGt:
      return Ordered(runtime, ">", b, a, false);
    case CompareOp::kGe:
      return Ordered(runtime, ">=", b, a, true);
    case CompareOp::kIn:
      return Contains(runtime, b, a);
    case CompareOp::kNotIn: {
      LATTICE_TRY(const bool inside, Contains(runtime, b, a));
      return !inside;
    }
  }
  return false;
}

Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (!item.IsString()) {
      return Fault("'in <string>' requires string as left operand, not " +
                   std::string(TypeName(item)));
    }
    LATTICE_TRY_VOID(runtime.Step((text->size() + item.text()->size()) / 64));
    return FindBytes(text->view(), item.text()->view(), 0) != kNotFound;
  }
  if (const Dict* dict = container.dict()) {
    if (item.depth() > 0) {
      return Fault("unhashable type: '" + std::string(TypeName(item)) + "'");
    }
    LATTICE_TRY_VOID(runtime.StepForKey(*dict, item));
    return dict->Find(item) != nullptr;
  }
  if (!IsIterable(container)) {
    return Fault("argument of type '" + std::string(TypeName(container)) + "' is not iterable");
  }
  if (const List* list = container.list();
      list != nullptr && list->kind != List::Kind::kGenerator) {
    for (const Value& candidate : list->items) {
      LATTICE_TRY(const bool same, Equal(runtime, candidate, item));
      if (same) return true;
    }
    return false;
  }
  LATTICE_TRY(const std::vector<Value> items, Iterate(runtime, container));
  for (const Value& candidate : items) {
    LATTICE_TRY(const bool same, Equal(runtime, candidate, item));
    if (same) return true;
  }
  return false;
}

}  // namespace lattice::chat::jinja
