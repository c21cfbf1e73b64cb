#include <algorithm>
#include <utility>

#include "chat/jinja/block.h"
#include "chat/jinja/methods.h"
#include "chat/jinja/operators.h"

namespace lattice::chat::jinja {
namespace {

// Takes the argument `name` out of `arguments`.
std::optional<Value> TakeNamed(Arguments& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& argument) { return argument.first == name; });
  if (found == arguments.named.end()) return std::nullopt;
  Value value = std::move(found->second);
  arguments.named.erase(found);
  return value;
}

}  // namespace

Result<Value> Interpreter::Call(const Value& callee, const Arguments& arguments) {
  if (const Macro* const* macro = callee.If<const Macro*>()) return CallMacro(**macro, arguments);
  if (const Function* const* function = callee.If<const Function*>()) {
    return (*function)->call(*this, arguments);
  }
  if (const MethodRef* method = callee.If<MethodRef>()) {
    return CallMethod(*this, (*method)->self, (*method)->name, arguments);
  }
  if (LoopState* const* loop = callee.If<LoopState*>()) return CallLoop(**loop, arguments);
  if (callee.IsUndefined()) return UndefinedFault(callee);
  return Fault("'" + std::string(TypeName(callee)) + "' object is not callable");
}

Result<const Macro*> Interpreter::NewMacro(const Stmt& definition, Scope& scope) {
  LATTICE_TRY_VOID(Keep(sizeof(Macro) + sizeof(Scope)));
  scope.Capture();
  macros_.push_back(std::make_unique<Macro>(Macro{&definition, &scope}));
  return static_cast<const Macro*>(macros_.back().get());
}

Result<Value> Interpreter::CallMacro(const Macro& macro, const Arguments& arguments) {
  Block block(*this, *macro.scope);
  LATTICE_TRY_VOID(BindParameters(*macro.definition, arguments, block.scope()));
  TextBuilder text = NewText();
  LATTICE_TRY_VOID(Execute(macro.definition->body, block.scope(), text));
  LATTICE_TRY(Text printed, Finish(std::move(text)));
  return Value(std::move(printed));
}

Status Interpreter::BindParameters(const Stmt& definition, const Arguments& arguments,
                                   Scope& scope) {
  const std::size_t n_parameters = definition.parameters.size();
  Arguments rest;
  rest.named = arguments.named;
  for (std::size_t i = 0; i < n_parameters; ++i) {
    const Parameter& parameter = definition.parameters[i];
    std::optional<Value> value;
    if (i < arguments.positional.size()) {
      value = arguments.positional[i];
    } else {
      value = TakeNamed(rest, parameter.name);
    }
    if (!value && parameter.fallback != nullptr) {
      LATTICE_TRY(value, Evaluate(*parameter.fallback, scope));
    }
    if (!value) {
      LATTICE_TRY(value, MakeUndefined("parameter '" + parameter.name + "' was not provided"));
    }
    scope.Set(parameter.symbol, *std::move(value));
  }
  if (arguments.positional.size() > n_parameters) {
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(n_parameters),
                           arguments.positional.end());
  }
  return BindExtras(definition, std::move(rest), scope);
}

// `caller`, `varargs` and `kwargs`, for macros that mention them.
Status Interpreter::BindExtras(const Stmt& definition, Arguments rest, Scope& scope) {
  const std::string what = "macro '" + definition.name + "'";
  if (definition.kind == StmtKind::kMacro && definition.uses_caller) {
    std::optional<Value> caller = TakeNamed(rest, "caller");
    scope.Set(program_.caller,
              caller ? *std::move(caller) : Value::MakeUndefined("No caller defined"));
  }
  if (definition.uses_kwargs) {
    Dict names;
    for (auto& [name, value] : rest.named) names.Set(Value::Str(name), std::move(value));
    LATTICE_TRY(Value kwargs, MakeDict(std::move(names)));
    scope.Set(program_.kwargs, std::move(kwargs));
  } else if (!rest.named.empty()) {
    return Fault(what + " takes no keyword argument '" + rest.named.front().first + "'");
  }
  if (definition.uses_varargs) {
    LATTICE_TRY(Value varargs, MakeList(std::move(rest.positional), List::Kind::kTuple));
    scope.Set(program_.varargs, std::move(varargs));
  } else if (!rest.positional.empty()) {
    return Fault(what + " takes not more than " + std::to_string(definition.parameters.size()) +
                 " argument(s)");
  }
  return Ok();
}

Result<Value> Interpreter::CallLoop(LoopState& loop, const Arguments& arguments) {
  if (!loop.statement->recursive) {
    return Fault("The loop must have the 'recursive' marker to be called recursively.");
  }
  LATTICE_TRY(const Bound bound, Bind("loop", arguments, {"iterable"}, 1));
  TextBuilder text = NewText();
  LATTICE_TRY_VOID(RunLoop(*loop.statement, *loop.outer, *bound[0], loop.depth0 + 1, text));
  LATTICE_TRY(Text printed, Finish(std::move(text)));
  return Value(std::move(printed));
}

Result<Interpreter::Flow> Interpreter::ExecuteFor(const Stmt& stmt, Scope& scope,
                                                  TextBuilder& out) {
  LATTICE_TRY(const Value iterable, Evaluate(*stmt.expr, scope));
  if (stmt.recursive) scope.Capture();
  return RunLoop(stmt, scope, iterable, 0, out);
}

Result<ListRef> Interpreter::Filtered(const Stmt& stmt, Scope& outer, const List& list) {
  std::vector<Value> kept;
  for (const Value& item : list.items) {
    Block block(*this, outer);
    LATTICE_TRY_VOID(Assign(stmt.target, item, block.scope()));
    LATTICE_TRY(const Value condition, Evaluate(*stmt.condition, block.scope()));
    if (Truthy(condition)) kept.push_back(item);
  }
  LATTICE_TRY(const Value filtered, MakeList(std::move(kept)));
  return *filtered.If<ListRef>();
}

Result<Interpreter::Flow> Interpreter::RunLoop(const Stmt& stmt, Scope& outer,
                                               const Value& iterable, std::size_t depth0,
                                               TextBuilder& out) {
  LATTICE_TRY_VOID(Keep(sizeof(LoopState)));
  loops_.push_back(std::make_unique<LoopState>());
  LoopState& loop = *loops_.back();
  LATTICE_TRY(loop.list, IterateShared(*this, iterable));
  if (stmt.condition != nullptr) {
    LATTICE_TRY(loop.list, Filtered(stmt, outer, *loop.list));
  }
  loop.depth0 = depth0;
  loop.statement = &stmt;
  loop.outer = &outer;
  bool completed =
      false;  // one visit reached the end of the body: the reference's reason for no else
  for (; loop.index < loop.list->items.size(); ++loop.index) {
    Block block(*this, outer);
    block.scope().Set(program_.loop, Value(&loop));
    LATTICE_TRY_VOID(Assign(stmt.target, loop.list->items[loop.index], block.scope()));
    LATTICE_TRY(const Flow flow, Execute(stmt.body, block.scope(), out));
    completed = completed || flow == Flow::kNormal;
    if (flow == Flow::kBreak) break;
  }
  // Should the loop's variable be kept and asked.
  loop.index = std::min(loop.index, std::max<std::size_t>(loop.list->items.size(), 1) - 1);
  if (completed) return Flow::kNormal;
  Block block(*this, outer);
  // Here `break` belongs to the loop around this one.
  return Execute(stmt.other, block.scope(), out);
}

}  // namespace lattice::chat::jinja
