#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/jinja/operators.h"
#include "chat/jinja/value.h"

namespace lattice::chat::jinja {

/// The number of a variable's name in Program::symbols.
using Symbol = std::uint32_t;

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind {
  kConstant,     ///< constant
  kName,         ///< symbol
  kTuple,        ///< children
  kList,         ///< children
  kDict,         ///< children: key, value, key, value, ...
  kGetAttr,      ///< children[0].name
  kGetItem,      ///< children[0][children[1]]
  kSlice,        ///< children[0][children[1]:children[2]:children[3]], absent ones null
  kCall,         ///< children[0](arguments)
  kFilter,       ///< children[0] | name(arguments); null: the text of the block it stands on
  kTest,         ///< children[0] is name(arguments)
  kBinary,       ///< children[0] binary children[1]
  kCompare,      ///< children[0] compares[0] children[1] compares[1] children[2] ...
  kAnd,          ///< children[0] and children[1]
  kOr,           ///< children[0] or children[1]
  kNot,          ///< not children[0]
  kNegate,       ///< -children[0]
  kPositive,     ///< +children[0]
  kConcat,       ///< children joined by ~
  kConditional,  ///< children[0] if children[1] else children[2], the last may be null
};

struct ArgumentExprs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr list;   ///< *list
  ExprPtr names;  ///< **names
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  std::uint32_t line = 0;
  std::uint32_t depth = 1;  ///< Levels of expressions below and including this one.
  Symbol symbol = 0;
  BinaryOp binary = BinaryOp::kAdd;
  std::string name;
  Value constant;
  std::vector<ExprPtr> children;
  std::vector<CompareOp> compares;
  ArgumentExprs arguments;
};

/// What {% set %} and {% for %} assign to.
struct Target {
  Symbol symbol = 0;
  std::string attribute;        ///< Not empty: an attribute of the namespace `symbol`.
  std::vector<Target> members;  ///< Not empty: a tuple.
};

struct Stmt;
using Body = std::vector<Stmt>;

enum class StmtKind {
  kData,         ///< data
  kOutput,       ///< {{ expr }}
  kIf,           ///< branches, other
  kFor,          ///< target in expr if condition: body, other
  kSet,          ///< target = expr
  kSetBlock,     ///< target = body, through filters (expr)
  kMacro,        ///< name(parameters): body
  kCallBlock,    ///< expr is the call; parameters and body are its `caller`
  kFilterBlock,  ///< body through filters (expr)
  kWith,         ///< assignments, body
  kScope,        ///< body with names of its own ({% generation %})
  kBreak,
  kContinue,
};

struct Parameter {
  Symbol symbol = 0;
  std::string name;
  ExprPtr fallback;  ///< Null: required, undefined when missing.
};

struct Branch {
  ExprPtr condition;
  Body body;
};

struct Stmt {
  StmtKind kind = StmtKind::kData;
  std::uint32_t line = 0;
  Text data;
  ExprPtr expr;
  ExprPtr condition;
  Target target;
  bool recursive = false;
  std::vector<Branch> branches;
  std::vector<std::pair<Target, ExprPtr>> assignments;
  Body body;
  Body other;
  // Of a macro and of the caller of a call block:
  std::string name;
  std::vector<Parameter> parameters;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

/// A parsed template: immutable, so threads may share it.
struct Program {
  Body body;
  std::unordered_map<std::string, Symbol> symbols;
  // Symbols that statements define by themselves.
  Symbol loop = 0, caller = 0, varargs = 0, kwargs = 0;
};

}  // namespace lattice::chat::jinja
