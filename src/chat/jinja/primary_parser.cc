#include <charconv>
#include <optional>
#include <utility>

#include "chat/jinja/expression_parser.h"

namespace lattice::chat::jinja {
namespace {

// An integer in the notation of templates: 12, 0x1f, 0o17, 0b101.
std::optional<Int> ReadInteger(std::string_view digits) {
  Int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && digits[1] > '9') {
    const char kind = static_cast<char>(digits[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
    digits.remove_prefix(2);
  }
  Int value = 0;
  for (const char c : digits) {
    Int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') digit = (c | 0x20) - 'a' + 10;
    if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

}  // namespace

Result<ExprPtr> ExpressionParser::ParsePrimary() {
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kString: {
      ExprPtr expr = NewExpr(ExprKind::kConstant);
      std::string joined;
      while (tokens_.Is(TokenKind::kString)) joined += tokens_.Next().text;
      expr->constant = Value::Str(joined);
      return Finish(std::move(expr));
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseNumber();
    default:
      break;
  }
  if (tokens_.IsOperator("(")) return ParseParenthesis();
  if (tokens_.IsOperator("[")) return ParseListLiteral();
  if (tokens_.IsOperator("{")) return ParseDictLiteral();
  return tokens_.Expected("an expression");
}

Result<ExprPtr> ExpressionParser::ParseName() {
  ExprPtr expr = NewExpr(ExprKind::kConstant);
  const std::string name = tokens_.Next().text;
  if (name == "true" || name == "True") {
    expr->constant = true;
  } else if (name == "false" || name == "False") {
    expr->constant = false;
  } else if (name == "none" || name == "None") {
    expr->constant = None{};
  } else {
    expr->kind = ExprKind::kName;
    expr->name = name;
    expr->symbol = symbols_.Of(name);
    special_uses_.caller += name == "caller" ? 1 : 0;
    special_uses_.varargs += name == "varargs" ? 1 : 0;
    special_uses_.kwargs += name == "kwargs" ? 1 : 0;
  }
  return Finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::ParseNumber() {
  ExprPtr expr = NewExpr(ExprKind::kConstant);
  const bool is_float = tokens_.Is(TokenKind::kFloat);
  const std::string& digits = tokens_.current().text;
  if (is_float) {
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc()) return tokens_.Complain("the number " + digits + " is too large");
    expr->constant = value;
  } else {
    const auto value = ReadInteger(digits);
    if (!value) return tokens_.Complain("'" + digits.substr(0, 60) + "' is no usable integer");
    expr->constant = *value;
  }
  tokens_.Next();
  return Finish(std::move(expr));
}

bool ExpressionParser::IsTupleEnd() const {
  return tokens_.Is(TokenKind::kOutputEnd) || tokens_.Is(TokenKind::kBlockEnd) ||
         tokens_.IsOperator(")") || tokens_.IsName("recursive");
}

Result<ExprPtr> ExpressionParser::ParseTuple(bool with_conditional) {
  LATTICE_TRY(ExprPtr first, ParseExpression(with_conditional));
  if (!tokens_.IsOperator(",")) return first;
  ExprPtr tuple = NewExpr(ExprKind::kTuple);
  tuple->children.push_back(std::move(first));
  while (tokens_.SkipOperator(",") && !IsTupleEnd()) {
    LATTICE_TRY(ExprPtr next, ParseExpression(with_conditional));
    tuple->children.push_back(std::move(next));
  }
  return Finish(std::move(tuple));
}

Result<ExprPtr> ExpressionParser::ParseParenthesis() {
  ExprPtr empty = NewExpr(ExprKind::kTuple);
  tokens_.Next();
  if (tokens_.SkipOperator(")")) return Finish(std::move(empty));
  LATTICE_TRY(ExprPtr inside, ParseTuple());
  LATTICE_TRY_VOID(tokens_.ExpectOperator(")"));
  return inside;
}

Result<ExprPtr> ExpressionParser::ParseListLiteral() {
  ExprPtr list = NewExpr(ExprKind::kList);
  tokens_.Next();
  while (!tokens_.IsOperator("]")) {
    LATTICE_TRY(ExprPtr item, ParseExpression());
    list->children.push_back(std::move(item));
    if (tokens_.IsOperator("]")) break;
    LATTICE_TRY_VOID(tokens_.ExpectOperator(","));
  }
  tokens_.Next();
  return Finish(std::move(list));
}

Result<ExprPtr> ExpressionParser::ParseDictLiteral() {
  ExprPtr dict = NewExpr(ExprKind::kDict);
  tokens_.Next();
  while (!tokens_.IsOperator("}")) {
    LATTICE_TRY(ExprPtr key, ParseExpression());
    LATTICE_TRY_VOID(tokens_.ExpectOperator(":"));
    LATTICE_TRY(ExprPtr value, ParseExpression());
    dict->children.push_back(std::move(key));
    dict->children.push_back(std::move(value));
    if (tokens_.IsOperator("}")) break;
    LATTICE_TRY_VOID(tokens_.ExpectOperator(","));
  }
  tokens_.Next();
  return Finish(std::move(dict));
}

// .name, .0, [expression], [from:to:step]
Result<ExprPtr> ExpressionParser::ParseSubscript(ExprPtr node) {
  ExprPtr expr = NewExpr(ExprKind::kGetAttr);
  if (tokens_.SkipOperator(".")) {
    if (tokens_.Is(TokenKind::kName)) {
      expr->name = tokens_.Next().text;
      expr->children.push_back(std::move(node));
      return Finish(std::move(expr));
    }
    if (!tokens_.Is(TokenKind::kInteger)) return tokens_.Expected("a name or a number");
    expr->kind = ExprKind::kGetItem;
    expr->children.push_back(std::move(node));
    LATTICE_TRY(ExprPtr index, ParseNumber());
    expr->children.push_back(std::move(index));
    return Finish(std::move(expr));
  }
  tokens_.Next();
  ExprPtr parts[3];
  std::size_t n_parts = 0;
  while (true) {
    if (!tokens_.IsOperator(":") && !tokens_.IsOperator("]")) {
      LATTICE_TRY(parts[n_parts], ParseTuple());
    }
    if (n_parts == 2 || !tokens_.SkipOperator(":")) break;
    ++n_parts;
  }
  LATTICE_TRY_VOID(tokens_.ExpectOperator("]"));
  if (n_parts == 0 && parts[0] == nullptr) return tokens_.Complain("a subscript is empty");
  expr->kind = n_parts == 0 ? ExprKind::kGetItem : ExprKind::kSlice;
  expr->children.push_back(std::move(node));
  for (std::size_t i = 0; i < (n_parts == 0 ? 1u : 3u); ++i) {
    expr->children.push_back(std::move(parts[i]));
  }
  return Finish(std::move(expr));
}

}  // namespace lattice::chat::jinja
