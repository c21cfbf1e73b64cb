#include "chat/jinja/interpreter.h"

#include "chat/jinja/block.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/printing.h"

namespace lattice::chat::jinja {

const Value* Scope::Find(Symbol symbol, std::size_t& n_visited) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    n_visited += scope->variables_.size();
    for (const auto& [known, value] : scope->variables_) {
      if (known == symbol) return &value;
    }
  }
  return nullptr;
}

void Scope::Set(Symbol symbol, Value value) {
  for (auto& [known, old] : variables_) {
    if (known != symbol) continue;
    old = std::move(value);
    return;
  }
  variables_.emplace_back(symbol, std::move(value));
}

void Scope::Capture() {
  for (Scope* scope = this; scope != nullptr && !scope->captured_; scope = scope->parent_) {
    scope->captured_ = true;
  }
}

std::string_view MacroName(const Macro& macro) { return macro.definition->name; }

Interpreter::Interpreter(const Program& program, const Limits& limits, CivilTime now,
                         std::size_t data_bytes)
    : Runtime(limits, data_bytes),
      program_(program),
      now_(now),
      globals_(nullptr),
      root_(&globals_) {
  for (const auto& [name, symbol] : program.symbols) {
    if (const Function* function = FindFunction(name)) globals_.Set(symbol, Value(function));
  }
}

Interpreter::~Interpreter() = default;

void Interpreter::Define(std::string_view name, const Value& value) {
  const auto found = program_.symbols.find(std::string(name));
  if (found != program_.symbols.end()) globals_.Set(found->second, value);  // else nothing reads it
}

Result<Text> Interpreter::Run(std::string_view where) {
  TextBuilder out(limits().max_output_bytes);
  const auto flow = Execute(program_.body, root_, out);
  Result<Text> text = !flow        ? Result<Text>(flow.error())
                      : out.full() ? Result<Text>(OutputLimit())
                                   : Result<Text>(std::move(out).Build());
  if (text || raised_) return text;
  Error error = std::move(text).error();
  if (error_line_ != 0) error = std::move(error).Within("line " + std::to_string(error_line_));
  return where.empty() ? error : std::move(error).Within(where);
}

Error Interpreter::OutputLimit() const {
  return Error{ErrorCode::kResourceExhausted, "the template exceeds the limit of " +
                                                  std::to_string(limits().max_output_bytes) +
                                                  " bytes of output"};
}

Error Interpreter::Raise(std::string message) {
  raised_ = true;
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Result<Namespace*> Interpreter::NewNamespace() {
  LATTICE_TRY_VOID(Keep(sizeof(Namespace)));
  namespaces_.push_back(std::make_unique<Namespace>());
  return namespaces_.back().get();
}

Result<Interpreter::Flow> Interpreter::Execute(const Body& body, Scope& scope, TextBuilder& out) {
  LATTICE_TRY_VOID(Enter());
  Flow flow = Flow::kNormal;
  for (const Stmt& stmt : body) {
    Result<Flow> result = ExecuteOne(stmt, scope, out);
    if (result && out.full()) result = OutputLimit();
    if (!result) {
      if (error_line_ == 0) error_line_ = stmt.line;
      return std::move(result).error();
    }
    flow = *result;
    if (flow != Flow::kNormal) break;
  }
  Leave();
  return flow;
}

Result<Interpreter::Flow> Interpreter::ExecuteOne(const Stmt& stmt, Scope& scope,
                                                  TextBuilder& out) {
  LATTICE_TRY_VOID(Step());
  switch (stmt.kind) {
    case StmtKind::kData:
      out.Append(stmt.data);
      return Flow::kNormal;
    case StmtKind::kOutput:
      LATTICE_TRY_VOID(ExecuteOutput(stmt, scope, out));
      return Flow::kNormal;
    case StmtKind::kIf:
      return ExecuteIf(stmt, scope, out);
    case StmtKind::kFor:
      return ExecuteFor(stmt, scope, out);
    case StmtKind::kSet:
      LATTICE_TRY_VOID(ExecuteSet(stmt, scope));
      return Flow::kNormal;
    case StmtKind::kSetBlock:
      LATTICE_TRY_VOID(ExecuteSetBlock(stmt, scope));
      return Flow::kNormal;
    case StmtKind::kMacro:
      LATTICE_TRY_VOID(ExecuteMacro(stmt, scope));
      return Flow::kNormal;
    case StmtKind::kCallBlock:
      LATTICE_TRY_VOID(ExecuteCallBlock(stmt, scope, out));
      return Flow::kNormal;
    case StmtKind::kFilterBlock:
      LATTICE_TRY_VOID(ExecuteFilterBlock(stmt, scope, out));
      return Flow::kNormal;
    case StmtKind::kWith:
    case StmtKind::kScope:
      return ExecuteWith(stmt, scope, out);
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Status Interpreter::ExecuteOutput(const Stmt& stmt, Scope& scope, TextBuilder& out) {
  LATTICE_TRY(const Value value, Evaluate(*stmt.expr, scope));
  return AppendStr(*this, value, out);
}

Result<Interpreter::Flow> Interpreter::ExecuteIf(const Stmt& stmt, Scope& scope, TextBuilder& out) {
  for (const Branch& branch : stmt.branches) {
    LATTICE_TRY(const Value condition, Evaluate(*branch.condition, scope));
    if (Truthy(condition)) return Execute(branch.body, scope, out);
  }
  return Execute(stmt.other, scope, out);
}

Status Interpreter::ExecuteSet(const Stmt& stmt, Scope& scope) {
  LATTICE_TRY(const Value value, Evaluate(*stmt.expr, scope));
  return Assign(stmt.target, value, scope);
}

Status Interpreter::Assign(const Target& target, const Value& value, Scope& scope) {
  if (!target.members.empty()) {
    LATTICE_TRY(const std::vector<Value> items, Iterate(*this, value));
    const std::size_t expected = target.members.size();
    if (items.size() != expected) {
      return Fault(items.size() < expected
                       ? "not enough values to unpack (expected " + std::to_string(expected) +
                             ", got " + std::to_string(items.size()) + ")"
                       : "too many values to unpack (expected " + std::to_string(expected) + ")");
    }
    for (std::size_t i = 0; i < expected; ++i) {
      LATTICE_TRY_VOID(Assign(target.members[i], items[i], scope));
    }
    return Ok();
  }
  if (target.attribute.empty()) {
    LATTICE_TRY_VOID(Step(scope.size() / 32));
    scope.Set(target.symbol, value);
    return Ok();
  }
  std::size_t n_visited = target.attribute.size();
  const Value* object = scope.Find(target.symbol, n_visited);
  LATTICE_TRY_VOID(Step(n_visited / 32));
  Namespace* const* names = object == nullptr ? nullptr : object->If<Namespace*>();
  if (names == nullptr) return Fault("cannot assign attribute on non-namespace object");
  LATTICE_TRY_VOID(CheckItems((*names)->attributes.entries.size() + 1));
  (*names)->attributes.Set(Value::Str(target.attribute), value);
  return Ok();
}

Result<Value> Interpreter::Capture(const Body& body, Scope& scope) {
  Block block(*this, scope);
  TextBuilder text = NewText();
  LATTICE_TRY_VOID(Execute(body, block.scope(), text));
  LATTICE_TRY(Text captured, Finish(std::move(text)));
  return Value(std::move(captured));
}

Status Interpreter::ExecuteSetBlock(const Stmt& stmt, Scope& scope) {
  LATTICE_TRY(Value value, Capture(stmt.body, scope));
  if (stmt.expr != nullptr) {
    const Value text = value;
    LATTICE_TRY(value, EvaluateFilter(*stmt.expr, scope, &text));
  }
  return Assign(stmt.target, value, scope);
}

Status Interpreter::ExecuteFilterBlock(const Stmt& stmt, Scope& scope, TextBuilder& out) {
  LATTICE_TRY(const Value text, Capture(stmt.body, scope));
  LATTICE_TRY(const Value value, EvaluateFilter(*stmt.expr, scope, &text));
  return AppendStr(*this, value, out);
}

Result<Interpreter::Flow> Interpreter::ExecuteWith(const Stmt& stmt, Scope& scope,
                                                   TextBuilder& out) {
  Block block(*this, scope);
  for (const auto& [target, expr] : stmt.assignments) {
    LATTICE_TRY(const Value value, Evaluate(*expr, scope));
    LATTICE_TRY_VOID(Assign(target, value, block.scope()));
  }
  return Execute(stmt.body, block.scope(), out);
}

Status Interpreter::ExecuteMacro(const Stmt& stmt, Scope& scope) {
  LATTICE_TRY(const Macro* const macro, NewMacro(stmt, scope));
  scope.Set(stmt.target.symbol, Value(macro));
  return Ok();
}

Status Interpreter::ExecuteCallBlock(const Stmt& stmt, Scope& scope, TextBuilder& out) {
  LATTICE_TRY(const Macro* const caller, NewMacro(stmt, scope));
  LATTICE_TRY(const Value callee, Evaluate(*stmt.expr->children[0], scope));
  LATTICE_TRY(Arguments arguments, EvaluateArguments(stmt.expr->arguments, scope));
  arguments.named.emplace_back("caller", Value(caller));
  LATTICE_TRY(const Value value, Call(callee, arguments));
  return AppendStr(*this, value, out);
}

}  // namespace lattice::chat::jinja
