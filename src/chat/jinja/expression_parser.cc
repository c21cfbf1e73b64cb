#include "chat/jinja/expression_parser.h"

#include <algorithm>
#include <utility>

namespace lattice::chat::jinja {

Symbol SymbolTable::Of(const std::string& name) {
  return symbols_.emplace(name, static_cast<Symbol>(symbols_.size())).first->second;
}

Status ExpressionParser::CheckNesting() const {
  if (level_ <= limits_.max_nesting) return Ok();
  return Error{ErrorCode::kResourceExhausted,
               "line " + std::to_string(tokens_.line()) + ": more than " +
                   std::to_string(limits_.max_nesting) + " nested levels"};
}

ExprPtr ExpressionParser::NewExpr(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = tokens_.line();
  return expr;
}

Result<ExprPtr> ExpressionParser::Finish(ExprPtr expr) const {
  std::uint32_t below = 0;
  const auto see = [&](const ExprPtr& child) {
    if (child != nullptr) below = std::max(below, child->depth);
  };
  for (const ExprPtr& child : expr->children) see(child);
  for (const ExprPtr& argument : expr->arguments.positional) see(argument);
  for (const auto& [name, argument] : expr->arguments.named) see(argument);
  see(expr->arguments.list);
  see(expr->arguments.names);
  expr->depth = below + 1;
  if (expr->depth > limits_.max_nesting) {
    return Error{ErrorCode::kResourceExhausted,
                 "line " + std::to_string(expr->line) + ": an expression of more than " +
                     std::to_string(limits_.max_nesting) + " levels"};
  }
  return expr;
}

Result<ExprPtr> ExpressionParser::Join(ExprKind kind, ExprPtr left, ExprPtr right) const {
  ExprPtr expr = NewExpr(kind);
  expr->line = left->line;
  expr->children.push_back(std::move(left));
  if (right != nullptr) expr->children.push_back(std::move(right));
  return Finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::ParseExpression(bool with_conditional) {
  const Nesting nesting(*this);
  LATTICE_TRY_VOID(CheckNesting());
  LATTICE_TRY(ExprPtr expr, ParseOr());
  while (with_conditional && tokens_.SkipName("if")) {
    ExprPtr choice = NewExpr(ExprKind::kConditional);
    LATTICE_TRY(ExprPtr condition, ParseOr());
    ExprPtr other;
    if (tokens_.SkipName("else")) {
      LATTICE_TRY(other, ParseExpression());
    }
    choice->children.push_back(std::move(expr));
    choice->children.push_back(std::move(condition));
    choice->children.push_back(std::move(other));
    LATTICE_TRY(expr, Finish(std::move(choice)));
  }
  return expr;
}

Result<ExprPtr> ExpressionParser::ParseOr() {
  LATTICE_TRY(ExprPtr left, ParseAnd());
  while (tokens_.SkipName("or")) {
    LATTICE_TRY(ExprPtr right, ParseAnd());
    LATTICE_TRY(left, Join(ExprKind::kOr, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseAnd() {
  LATTICE_TRY(ExprPtr left, ParseNot());
  while (tokens_.SkipName("and")) {
    LATTICE_TRY(ExprPtr right, ParseNot());
    LATTICE_TRY(left, Join(ExprKind::kAnd, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseNot() {
  if (!tokens_.SkipName("not")) return ParseCompare();
  const Nesting nesting(*this);
  LATTICE_TRY_VOID(CheckNesting());
  LATTICE_TRY(ExprPtr operand, ParseNot());
  return Join(ExprKind::kNot, std::move(operand), nullptr);
}

std::optional<CompareOp> ExpressionParser::NextCompareOp() {
  static constexpr std::pair<std::string_view, CompareOp> kOps[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
  for (const auto& [text, op] : kOps) {
    if (tokens_.SkipOperator(text)) return op;
  }
  if (tokens_.SkipName("in")) return CompareOp::kIn;
  if (tokens_.IsName("not") && tokens_.Peek().kind == TokenKind::kName &&
      tokens_.Peek().text == "in") {
    tokens_.Next();
    tokens_.Next();
    return CompareOp::kNotIn;
  }
  return std::nullopt;
}

Result<ExprPtr> ExpressionParser::ParseCompare() {
  LATTICE_TRY(ExprPtr first, ParseSum());
  ExprPtr compare;
  while (const auto op = NextCompareOp()) {
    if (compare == nullptr) {
      compare = NewExpr(ExprKind::kCompare);
      compare->line = first->line;
      compare->children.push_back(std::move(first));
    }
    LATTICE_TRY(ExprPtr next, ParseSum());
    compare->compares.push_back(*op);
    compare->children.push_back(std::move(next));
  }
  if (compare == nullptr) return first;
  return Finish(std::move(compare));
}

Result<ExprPtr> ExpressionParser::ParseSum() {
  LATTICE_TRY(ExprPtr left, ParseConcat());
  while (tokens_.IsOperator("+") || tokens_.IsOperator("-")) {
    const BinaryOp op = tokens_.Next().text == "+" ? BinaryOp::kAdd : BinaryOp::kSub;
    LATTICE_TRY(ExprPtr right, ParseConcat());
    LATTICE_TRY(left, Join(ExprKind::kBinary, std::move(left), std::move(right)));
    left->binary = op;
  }
  return left;
}

Result<ExprPtr> ExpressionParser::ParseConcat() {
  LATTICE_TRY(ExprPtr first, ParseProduct());
  if (!tokens_.IsOperator("~")) return first;
  ExprPtr concat = NewExpr(ExprKind::kConcat);
  concat->children.push_back(std::move(first));
  while (tokens_.SkipOperator("~")) {
    LATTICE_TRY(ExprPtr next, ParseProduct());
    concat->children.push_back(std::move(next));
  }
  return Finish(std::move(concat));
}

Result<ExprPtr> ExpressionParser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOp> kOps[] = {{"*", BinaryOp::kMul},
                                                                   {"/", BinaryOp::kDiv},
                                                                   {"//", BinaryOp::kFloorDiv},
                                                                   {"%", BinaryOp::kMod}};
  LATTICE_TRY(ExprPtr left, ParsePower());
  while (true) {
    const auto op = std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& candidate) {
      return tokens_.SkipOperator(candidate.first);
    });
    if (op == std::end(kOps)) return left;
    LATTICE_TRY(ExprPtr right, ParsePower());
    LATTICE_TRY(left, Join(ExprKind::kBinary, std::move(left), std::move(right)));
    left->binary = op->second;
  }
}

Result<ExprPtr> ExpressionParser::ParsePower() {
  LATTICE_TRY(ExprPtr left, ParseUnary());
  while (tokens_.SkipOperator("**")) {
    LATTICE_TRY(ExprPtr right, ParseUnary());
    LATTICE_TRY(left, Join(ExprKind::kBinary, std::move(left), std::move(right)));
    left->binary = BinaryOp::kPow;
  }
  return left;
}

// As in the reference, a sign binds looser than .attribute and tighter than a filter.
Result<ExprPtr> ExpressionParser::ParseUnary(bool with_filters) {
  const Nesting nesting(*this);
  LATTICE_TRY_VOID(CheckNesting());
  ExprPtr node;
  if (tokens_.IsOperator("-") || tokens_.IsOperator("+")) {
    const bool minus = tokens_.Next().text == "-";
    LATTICE_TRY(ExprPtr operand, ParseUnary(/*with_filters=*/false));
    LATTICE_TRY(node,
                Join(minus ? ExprKind::kNegate : ExprKind::kPositive, std::move(operand), nullptr));
  } else {
    LATTICE_TRY(node, ParsePrimary());
  }
  LATTICE_TRY(node, ParsePostfix(std::move(node)));
  if (!with_filters) return node;
  return ParseFilterExpression(std::move(node));
}

Result<ExprPtr> ExpressionParser::ParsePostfix(ExprPtr node) {
  while (true) {
    if (tokens_.IsOperator(".") || tokens_.IsOperator("[")) {
      LATTICE_TRY(node, ParseSubscript(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      LATTICE_TRY(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::ParseFilterExpression(ExprPtr node) {
  while (true) {
    if (tokens_.IsOperator("|")) {
      LATTICE_TRY(node, ParseFilters(std::move(node)));
    } else if (tokens_.SkipName("is")) {
      LATTICE_TRY(node, ParseTest(std::move(node)));
    } else if (tokens_.IsOperator("(")) {
      LATTICE_TRY(node, ParseCall(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::ParseFilters(ExprPtr subject) {
  while (tokens_.SkipOperator("|")) {
    LATTICE_TRY(subject, ParseFilter(std::move(subject)));
  }
  return subject;
}

Result<ExprPtr> ExpressionParser::ParseBareFilters() {
  LATTICE_TRY(ExprPtr first, ParseFilter(nullptr));
  return ParseFilters(std::move(first));
}

Result<ExprPtr> ExpressionParser::ParseFilter(ExprPtr subject) {
  ExprPtr filter = NewExpr(ExprKind::kFilter);
  LATTICE_TRY(filter->name, tokens_.ExpectName());
  filter->children.push_back(std::move(subject));
  if (tokens_.IsOperator("(")) {
    LATTICE_TRY(filter->arguments, ParseArguments());
  }
  return Finish(std::move(filter));
}

Result<ExprPtr> ExpressionParser::ParseTest(ExprPtr subject) {
  const bool negated = tokens_.SkipName("not");
  ExprPtr test = NewExpr(ExprKind::kTest);
  LATTICE_TRY(test->name, tokens_.ExpectName());
  test->children.push_back(std::move(subject));
  const bool is_word = tokens_.Is(TokenKind::kName);
  const bool ends =
      is_word && (tokens_.IsName("else") || tokens_.IsName("or") || tokens_.IsName("and") ||
                  tokens_.IsName("if") || tokens_.IsName("in") || tokens_.IsName("not"));
  if (tokens_.IsOperator("(")) {
    LATTICE_TRY(test->arguments, ParseArguments());
  } else if (tokens_.IsName("is")) {
    return tokens_.Complain("tests with 'is' cannot be chained");
  } else if ((is_word && !ends) || tokens_.Is(TokenKind::kString) ||
             tokens_.Is(TokenKind::kInteger) || tokens_.Is(TokenKind::kFloat) ||
             tokens_.IsOperator("[") || tokens_.IsOperator("{")) {
    const Nesting nesting(*this);
    LATTICE_TRY_VOID(CheckNesting());
    LATTICE_TRY(ExprPtr argument, ParsePrimary());
    LATTICE_TRY(argument, ParsePostfix(std::move(argument)));
    test->arguments.positional.push_back(std::move(argument));
  }
  LATTICE_TRY(test, Finish(std::move(test)));
  if (!negated) return test;
  return Join(ExprKind::kNot, std::move(test), nullptr);
}

Result<ExprPtr> ExpressionParser::ParseCall(ExprPtr callee) {
  ExprPtr call = NewExpr(ExprKind::kCall);
  call->children.push_back(std::move(callee));
  LATTICE_TRY(call->arguments, ParseArguments());
  return Finish(std::move(call));
}

Result<ArgumentExprs> ExpressionParser::ParseArguments() {
  LATTICE_TRY_VOID(tokens_.ExpectOperator("("));
  ArgumentExprs arguments;
  while (!tokens_.IsOperator(")")) {
    LATTICE_TRY_VOID(ParseArgument(arguments));
    if (tokens_.IsOperator(")")) break;
    LATTICE_TRY_VOID(tokens_.ExpectOperator(","));
  }
  tokens_.Next();
  return arguments;
}

Status ExpressionParser::ParseArgument(ArgumentExprs& arguments) {
  if (tokens_.IsOperator("*") && arguments.list == nullptr && arguments.names == nullptr) {
    tokens_.Next();
    LATTICE_TRY(arguments.list, ParseExpression());
    return Ok();
  }
  if (tokens_.IsOperator("**") && arguments.names == nullptr) {
    tokens_.Next();
    LATTICE_TRY(arguments.names, ParseExpression());
    return Ok();
  }
  if (arguments.names != nullptr) return tokens_.Complain("invalid syntax for a function call");
  const Token& after = tokens_.Peek();
  if (tokens_.Is(TokenKind::kName) && after.kind == TokenKind::kOperator && after.text == "=") {
    std::string name = tokens_.Next().text;
    tokens_.Next();
    LATTICE_TRY(ExprPtr value, ParseExpression());
    arguments.named.emplace_back(std::move(name), std::move(value));
    return Ok();
  }
  if (!arguments.named.empty() || arguments.list != nullptr) {
    return tokens_.Complain("invalid syntax for a function call");
  }
  LATTICE_TRY(ExprPtr value, ParseExpression());
  arguments.positional.push_back(std::move(value));
  return Ok();
}

}  // namespace lattice::chat::jinja
