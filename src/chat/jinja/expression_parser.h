#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/token_stream.h"

namespace lattice::chat::jinja {

/// The names of variables, each with its number.
class SymbolTable {
 public:
  Symbol Of(const std::string& name);
  std::unordered_map<std::string, Symbol> Take() && { return std::move(symbols_); }

 private:
  std::unordered_map<std::string, Symbol> symbols_;
};

/// Parses expressions by descent, with Jinja2's precedence. Deeper nesting than
/// Limits::max_nesting is kResourceExhausted.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, SymbolTable& symbols, const Limits& limits)
      : tokens_(tokens), symbols_(symbols), limits_(limits) {}

  Result<ExprPtr> ParseExpression(bool with_conditional = true);
  /// An expression, or several with commas: a tuple.
  Result<ExprPtr> ParseTuple(bool with_conditional = true);
  /// `| a | b(...)` on `subject`, which is null on a block; null when there is no filter.
  Result<ExprPtr> ParseFilters(ExprPtr subject);
  /// The same where the first name has no bar before it.
  Result<ExprPtr> ParseBareFilters();

  /// One level of nesting more, for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : parser_(parser) { ++parser_.level_; }
    ~Nesting() { --parser_.level_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };
  Status CheckNesting() const;

  /// How often names that only macros define were read so far.
  struct SpecialUses {
    std::size_t caller = 0, varargs = 0, kwargs = 0;
  };
  const SpecialUses& special_uses() const { return special_uses_; }

 private:
  Result<ExprPtr> ParseOr();
  Result<ExprPtr> ParseAnd();
  Result<ExprPtr> ParseNot();
  Result<ExprPtr> ParseCompare();
  Result<ExprPtr> ParseSum();
  Result<ExprPtr> ParseConcat();
  Result<ExprPtr> ParseProduct();
  Result<ExprPtr> ParsePower();
  Result<ExprPtr> ParseUnary(bool with_filters = true);
  Result<ExprPtr> ParsePrimary();
  Result<ExprPtr> ParseName();
  Result<ExprPtr> ParseNumber();
  Result<ExprPtr> ParseParenthesis();
  Result<ExprPtr> ParseListLiteral();
  Result<ExprPtr> ParseDictLiteral();
  Result<ExprPtr> ParsePostfix(ExprPtr node);
  Result<ExprPtr> ParseSubscript(ExprPtr node);
  Result<ExprPtr> ParseFilterExpression(ExprPtr node);
  Result<ExprPtr> ParseFilter(ExprPtr subject);
  Result<ExprPtr> ParseTest(ExprPtr subject);
  Result<ExprPtr> ParseCall(ExprPtr callee);
  Result<ArgumentExprs> ParseArguments();
  Status ParseArgument(ArgumentExprs& arguments);
  bool IsTupleEnd() const;
  std::optional<CompareOp> NextCompareOp();

  ExprPtr NewExpr(ExprKind kind) const;
  /// Notes how deep the expression is, which bounds every later walk over it.
  Result<ExprPtr> Finish(ExprPtr expr) const;
  Result<ExprPtr> Join(ExprKind kind, ExprPtr left, ExprPtr right) const;

  TokenStream& tokens_;
  SymbolTable& symbols_;
  const Limits& limits_;
  std::size_t level_ = 0;
  SpecialUses special_uses_;
};

}  // namespace lattice::chat::jinja
