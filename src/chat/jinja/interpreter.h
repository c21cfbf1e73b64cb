#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/macro.h"
#include "chat/jinja/runtime.h"

namespace lattice::chat::jinja {

/// Variables of one block, and the scope around it.
class Scope {
 public:
  explicit Scope(Scope* parent) : parent_(parent) {}

  /// Adds to `n_visited` the variables that were looked at.
  const Value* Find(Symbol symbol, std::size_t& n_visited) const;
  void Set(Symbol symbol, Value value);
  std::size_t size() const { return variables_.size(); }
  /// Keeps this scope and those around it for the whole run: a macro or a recursive loop refers to
  /// it and may be called after the block has ended.
  void Capture();
  bool captured() const { return captured_; }

 private:
  Scope* parent_;
  bool captured_ = false;
  std::vector<std::pair<Symbol, Value>> variables_;
};

/// One run of a program. Walks its tree; every level is counted against Limits::max_depth, so the
/// native stack is bounded.
class Interpreter final : public Runtime {
 public:
  /// `data_bytes`: the size of the variables, which widens the limit of what may be built.
  Interpreter(const Program& program, const Limits& limits, CivilTime now, std::size_t data_bytes);
  ~Interpreter() override;

  /// What the template may read besides the global functions.
  void Define(std::string_view name, const Value& value);

  /// Runs the program. Errors are located ("line N: ...", behind `where` if it is not empty), but
  /// for those of raise_exception.
  Result<Text> Run(std::string_view where);

  Result<Value> Call(const Value& callee, const Arguments& arguments) override;
  Error Raise(std::string message) override;
  CivilTime Now() override { return now_; }
  Result<Namespace*> NewNamespace() override;

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  /// A scope for as long as the block lives, or longer when it is captured.
  class Block;

  Result<Value> Evaluate(const Expr& expr, Scope& scope);
  Result<Value> EvaluateEntered(const Expr& expr, Scope& scope);
  Result<Value> EvaluateOptional(const ExprPtr& expr, Scope& scope);
  Result<Value> EvaluateName(const Expr& expr, Scope& scope);
  Result<Value> EvaluateItems(const Expr& expr, Scope& scope);
  Result<Value> EvaluateDict(const Expr& expr, Scope& scope);
  Result<Value> EvaluateSlice(const Expr& expr, Scope& scope);
  Result<Value> EvaluateCall(const Expr& expr, Scope& scope);
  Result<Value> EvaluateFilter(const Expr& expr, Scope& scope, const Value* block);
  Result<Value> EvaluateTest(const Expr& expr, Scope& scope);
  Result<Value> EvaluateCompare(const Expr& expr, Scope& scope);
  Result<Value> EvaluateConcat(const Expr& expr, Scope& scope);
  Result<Value> EvaluateConditional(const Expr& expr, Scope& scope);
  Result<Arguments> EvaluateArguments(const ArgumentExprs& exprs, Scope& scope);

  Result<Flow> Execute(const Body& body, Scope& scope, TextBuilder& out);
  Result<Flow> ExecuteOne(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Status ExecuteOutput(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Result<Flow> ExecuteIf(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Result<Flow> ExecuteFor(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Status ExecuteSet(const Stmt& stmt, Scope& scope);
  Status ExecuteSetBlock(const Stmt& stmt, Scope& scope);
  Status ExecuteMacro(const Stmt& stmt, Scope& scope);
  Status ExecuteCallBlock(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Status ExecuteFilterBlock(const Stmt& stmt, Scope& scope, TextBuilder& out);
  Result<Flow> ExecuteWith(const Stmt& stmt, Scope& scope, TextBuilder& out);
  /// The text that a body prints; what it sets is gone afterwards.
  Result<Value> Capture(const Body& body, Scope& scope);

  /// Visits items; `outer` is the scope around the loop.
  Result<Flow> RunLoop(const Stmt& stmt, Scope& outer, const Value& iterable, std::size_t depth0,
                       TextBuilder& out);
  Result<ListRef> Filtered(const Stmt& stmt, Scope& outer, const List& list);
  Status Assign(const Target& target, const Value& value, Scope& scope);

  Result<const Macro*> NewMacro(const Stmt& definition, Scope& scope);
  Result<Value> CallMacro(const Macro& macro, const Arguments& arguments);
  Status BindParameters(const Stmt& definition, const Arguments& arguments, Scope& scope);
  Status BindExtras(const Stmt& definition, Arguments rest, Scope& scope);
  Result<Value> CallLoop(LoopState& loop, const Arguments& arguments);
  Error OutputLimit() const;

  const Program& program_;
  CivilTime now_;
  Scope globals_;
  Scope root_;
  std::uint32_t error_line_ = 0;  // of the innermost node that failed
  bool raised_ = false;
  // What values point to lives as long as the run.
  std::vector<std::unique_ptr<Scope>> captured_scopes_;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  std::vector<std::unique_ptr<Macro>> macros_;
  std::vector<std::unique_ptr<LoopState>> loops_;
};

}  // namespace lattice::chat::jinja
