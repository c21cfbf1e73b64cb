#include <utility>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"

namespace lattice::chat::jinja {

Result<Value> Interpreter::Evaluate(const Expr& expr, Scope& scope) {
  Result<Value> result = Value();
  if (Status entered = Enter(); entered) {
    result = EvaluateEntered(expr, scope);
    Leave();
  } else {
    result = std::move(entered).error();
  }
  if (!result && error_line_ == 0) error_line_ = expr.line;
  return result;
}

Result<Value> Interpreter::EvaluateEntered(const Expr& expr, Scope& scope) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return EvaluateName(expr, scope);
    case ExprKind::kTuple:
    case ExprKind::kList:
      return EvaluateItems(expr, scope);
    case ExprKind::kDict:
      return EvaluateDict(expr, scope);
    case ExprKind::kSlice:
      return EvaluateSlice(expr, scope);
    case ExprKind::kCall:
      return EvaluateCall(expr, scope);
    case ExprKind::kFilter:
      return EvaluateFilter(expr, scope, nullptr);
    case ExprKind::kTest:
      return EvaluateTest(expr, scope);
    case ExprKind::kCompare:
      return EvaluateCompare(expr, scope);
    case ExprKind::kConcat:
      return EvaluateConcat(expr, scope);
    case ExprKind::kConditional:
      return EvaluateConditional(expr, scope);
    default:
      break;
  }
  LATTICE_TRY(Value first, Evaluate(*expr.children[0], scope));
  switch (expr.kind) {
    case ExprKind::kGetAttr:
      return GetAttr(*this, first, expr.name);
    case ExprKind::kNot:
      return Value(!Truthy(first));
    case ExprKind::kNegate:
      return Negate(first);
    case ExprKind::kPositive:
      return Positive(first);
    case ExprKind::kAnd:
      return Truthy(first) ? Evaluate(*expr.children[1], scope) : first;
    case ExprKind::kOr:
      return Truthy(first) ? first : Evaluate(*expr.children[1], scope);
    default:
      break;
  }
  LATTICE_TRY(const Value second, Evaluate(*expr.children[1], scope));
  if (expr.kind == ExprKind::kGetItem) return GetItem(*this, first, second);
  return Binary(*this, expr.binary, first, second);
}

Result<Value> Interpreter::EvaluateOptional(const ExprPtr& expr, Scope& scope) {
  if (expr == nullptr) return Value();
  return Evaluate(*expr, scope);
}

Result<Value> Interpreter::EvaluateName(const Expr& expr, Scope& scope) {
  std::size_t n_visited = 0;
  const Value* found = scope.Find(expr.symbol, n_visited);
  LATTICE_TRY_VOID(Step(n_visited / 32));
  // Only the reason of an undefined variable takes the trouble of making words.
  if (found == nullptr || (found->IsUndefined() && found->If<Undefined>()->reason == nullptr)) {
    return MakeUndefined("'" + expr.name + "' is undefined");
  }
  return *found;
}

Result<Value> Interpreter::EvaluateItems(const Expr& expr, Scope& scope) {
  std::vector<Value> items;
  items.reserve(expr.children.size());
  for (const ExprPtr& child : expr.children) {
    LATTICE_TRY(Value item, Evaluate(*child, scope));
    items.push_back(std::move(item));
  }
  return MakeList(std::move(items),
                  expr.kind == ExprKind::kTuple ? List::Kind::kTuple : List::Kind::kList);
}

Result<Value> Interpreter::EvaluateDict(const Expr& expr, Scope& scope) {
  Dict dict;
  for (std::size_t i = 0; i < expr.children.size(); i += 2) {
    LATTICE_TRY(Value key, Evaluate(*expr.children[i], scope));
    LATTICE_TRY(Value value, Evaluate(*expr.children[i + 1], scope));
    if (key.depth() > 0) {
      return Fault("unhashable type: '" + std::string(TypeName(key)) + "'");
    }
    LATTICE_TRY_VOID(StepForKey(dict, key));
    dict.Set(std::move(key), std::move(value));
  }
  return MakeDict(std::move(dict));
}

Result<Value> Interpreter::EvaluateSlice(const Expr& expr, Scope& scope) {
  LATTICE_TRY(const Value object, Evaluate(*expr.children[0], scope));
  LATTICE_TRY(const Value from, EvaluateOptional(expr.children[1], scope));
  LATTICE_TRY(const Value to, EvaluateOptional(expr.children[2], scope));
  LATTICE_TRY(const Value step, EvaluateOptional(expr.children[3], scope));
  return GetSlice(*this, object, from, to, step);
}

Result<Arguments> Interpreter::EvaluateArguments(const ArgumentExprs& exprs, Scope& scope) {
  Arguments arguments;
  arguments.positional.reserve(exprs.positional.size());
  for (const ExprPtr& expr : exprs.positional) {
    LATTICE_TRY(Value value, Evaluate(*expr, scope));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, expr] : exprs.named) {
    LATTICE_TRY(Value value, Evaluate(*expr, scope));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (exprs.list != nullptr) {
    LATTICE_TRY(const Value list, Evaluate(*exprs.list, scope));
    LATTICE_TRY(const std::vector<Value> items, Iterate(*this, list));
    LATTICE_TRY_VOID(CheckItems(items.size()));
    LATTICE_TRY_VOID(Keep(items.size() * sizeof(Value)));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (exprs.names != nullptr) {
    LATTICE_TRY(const Value names, Evaluate(*exprs.names, scope));
    if (names.dict() == nullptr) return Fault("the argument after ** must be a mapping");
    LATTICE_TRY_VOID(Step(names.dict()->entries.size()));
    for (const auto& [name, value] : names.dict()->entries) {
      if (!name.IsString()) return Fault("keywords must be strings");
      LATTICE_TRY_VOID(Keep(sizeof(arguments.named[0]) + name.text()->size()));
      arguments.named.emplace_back(std::string(name.text()->view()), value);
    }
  }
  return arguments;
}

Result<Value> Interpreter::EvaluateCall(const Expr& expr, Scope& scope) {
  const Expr& callee = *expr.children[0];
  // A method is called where it is found, without becoming a value first.
  if (callee.kind == ExprKind::kGetAttr) {
    LATTICE_TRY(const Value self, Evaluate(*callee.children[0], scope));
    if (FindMethod(self, callee.name) == MethodKind::kKnown) {
      LATTICE_TRY(const Arguments arguments, EvaluateArguments(expr.arguments, scope));
      return CallMethod(*this, self, callee.name, arguments);
    }
    LATTICE_TRY(const Value attribute, GetAttr(*this, self, callee.name));
    LATTICE_TRY(const Arguments arguments, EvaluateArguments(expr.arguments, scope));
    return Call(attribute, arguments);
  }
  LATTICE_TRY(const Value function, Evaluate(callee, scope));
  LATTICE_TRY(const Arguments arguments, EvaluateArguments(expr.arguments, scope));
  return Call(function, arguments);
}

Result<Value> Interpreter::EvaluateFilter(const Expr& expr, Scope& scope, const Value* block) {
  Value subject;
  if (expr.children[0] != nullptr) {
    // On a block the innermost filter of a chain gets the text.
    LATTICE_TRY(subject, block != nullptr ? EvaluateFilter(*expr.children[0], scope, block)
                                          : Evaluate(*expr.children[0], scope));
  } else if (block != nullptr) {
    subject = *block;
  }
  LATTICE_TRY(const Arguments arguments, EvaluateArguments(expr.arguments, scope));
  return ApplyFilter(*this, expr.name, subject, arguments);
}

Result<Value> Interpreter::EvaluateTest(const Expr& expr, Scope& scope) {
  LATTICE_TRY(const Value subject, Evaluate(*expr.children[0], scope));
  LATTICE_TRY(const Arguments arguments, EvaluateArguments(expr.arguments, scope));
  LATTICE_TRY(const bool holds, ApplyTest(*this, expr.name, subject, arguments));
  return Value(holds);
}

Result<Value> Interpreter::EvaluateCompare(const Expr& expr, Scope& scope) {
  LATTICE_TRY(Value left, Evaluate(*expr.children[0], scope));
  for (std::size_t i = 0; i < expr.compares.size(); ++i) {
    LATTICE_TRY(Value right, Evaluate(*expr.children[i + 1], scope));
    LATTICE_TRY(const bool holds, Compare(*this, expr.compares[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::EvaluateConcat(const Expr& expr, Scope& scope) {
  TextBuilder out = NewText();
  for (const ExprPtr& child : expr.children) {
    LATTICE_TRY(const Value value, Evaluate(*child, scope));
    LATTICE_TRY_VOID(AppendStr(*this, value, out));
  }
  LATTICE_TRY(Text text, Finish(std::move(out)));
  return Value(std::move(text));
}

Result<Value> Interpreter::EvaluateConditional(const Expr& expr, Scope& scope) {
  LATTICE_TRY(const Value condition, Evaluate(*expr.children[1], scope));
  if (Truthy(condition)) return Evaluate(*expr.children[0], scope);
  if (expr.children[2] != nullptr) return Evaluate(*expr.children[2], scope);
  return MakeUndefined(
      "the inline if-expression evaluated to false and no else section was defined");
}

}  // namespace lattice::chat::jinja
